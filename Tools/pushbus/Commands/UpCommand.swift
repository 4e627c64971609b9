import Commands
import FoundationEssentials
import Loop
import ServiceKit
import Topology

/// `pushbus up`
enum UpCommand {
    static let command = Command(
        "up",
        "Starts all services and looks after them until ctrl-C.",
        options: [
            .value(
                "--directory",
                "DIR",
                "where everything is kept, made with mode 0700 if missing"
            ),
            .value("--http", "HOST:PORT", "where phones connect (default 127.0.0.1:8080)"),
            .value(
                "--events",
                "HOST:PORT",
                "where integrators publish over HTTP (default: nowhere)"
            ),
            .value("--public-url", "URL", "where phones reach that, when a proxy is in front"),
            .value(
                "--store",
                "URL",
                "postgresql://user@host/database for all stores (default: files in DIR)"
            ),
            .value("--delivery", "N", "Delivery processes that share that database (1)"),
            .flag("--simulator", "start the APNs simulator and turn the Relay to it"),
            .value("--simulator-port", "PORT", "its control port; APNs on the next two (8090)"),
            .value("--fanout", "N", "processes of Fanout"),
            .value("--relay", "N", "processes of the Relay"),
            .value("--without", "LIST", "services that are not started, separated by commas"),
            .value("--executables", "DIR", "where the programs are (default: beside this one)"),
            .flag("--foreground-logs", "print the services' logs instead of writing files"),
        ],
        notes: """
            A service that ends unasked is started again. Variables of the environment that begin
            with PUSHBUS_<SERVICE>_ go to that service, so the Relay gets its credentials by
            PUSHBUS_RELAY_APNS_KEY_FILE and so on. 'pushbus join' adds a process while it runs.

            With --store each service keeps its tables in a schema of its own, pushbus_registration,
            pushbus_eventingest and pushbus_delivery, which it makes at its first start. A URL with a
            password is better kept in a file that PUSHBUS_<SERVICE>_STORE_FILE names.

            \(ExitCode.help)
            """
    ) { arguments in
        let plan = try plan(arguments, environment: ProcessInfo.processInfo.environment)
        let lock = try DirectoryLock(plan.directory)
        defer { withExtendedLifetime(lock) {} }
        let log = Log(level: .warning)
        return await ServiceGroup(
            [StackService(plan: plan, log: log, terminal: .standard)],
            gracePeriod: .seconds(60),
            log: log
        ).run()
    }

    static func plan(
        _ arguments: Arguments,
        environment: [String: String]
    ) throws -> StackPlan {
        var executables = arguments.value("--executables")
        if executables == nil { executables = try Topology.folderOfThisProgram() }
        var plan = StackPlan(
            directory: try BusConnection.directory(arguments),
            executables: executables ?? "/",
            http: arguments.value("--http") ?? "127.0.0.1:8080"
        )
        plan.events = arguments.value("--events")
        plan.publicURL = arguments.value("--public-url")
        let first =
            try arguments.value("--simulator-port", "a port up to 65533") { text in
                UInt16(text).flatMap { (1...65_533).contains($0) ? $0 : nil }
            } ?? 8090
        if arguments.has("--simulator") {
            plan.simulator = .init(control: first, sandbox: first + 1, production: first + 2)
        }
        plan.database = try arguments.value("--store", "postgresql://user@host/database") { text in
            text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") ? text : nil
        }
        for service in PushBusService.allCases where service.mayBeSeveral {
            let option = "--\(service.rawValue)"
            plan.instances[service] = try arguments.value(option, "a number from 1 to 64") { text in
                Int(text).flatMap { (1...64).contains($0) ? $0 : nil }
            }
        }
        let hasOwnStore = environment.keys.contains { $0.hasPrefix("PUSHBUS_DELIVERY_STORE") }
        if plan.instances[.delivery] ?? 1 > 1, plan.database == nil, !hasOwnStore {
            throw UsageError("--delivery needs --store: one process owns an outbox on SQLite")
        }
        for word in arguments.value("--without")?.split(separator: ",") ?? [] {
            guard let service = PushBusService(rawValue: String(word)) else {
                let names = PushBusService.allCases.map(\.rawValue).joined(separator: ", ")
                throw UsageError("--without takes \(names), not '\(word)'")
            }
            plan.without.insert(service)
        }
        plan.output = arguments.has("--foreground-logs") ? .prefixed : .files
        plan.restart = .standard
        plan.environment = environment.filter { $0.key.hasPrefix("PUSHBUS_") }
        return plan
    }
}
