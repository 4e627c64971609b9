import Bus
import Contracts
import FoundationEssentials
import HTTPClient
import Loop
import ServiceKit
import TestKit
import Topology

/// All of PushBus as real processes in a directory of its own, with a simulator instead of Apple.
///
/// What a test does goes through real entry points: the bus, HTTP and the simulator's control API.
final class World: Sendable {
    let directory: TemporaryDirectory
    let running: RunningTopology
    let http: HTTPClient
    let bus: BusRuntime
    let simulator: String
    private let links: CurveLinks?
    private let clients: [PushBusService: BusClient]

    private init(
        directory: TemporaryDirectory,
        running: RunningTopology,
        http: HTTPClient,
        bus: BusRuntime,
        simulator: String,
        links: CurveLinks?
    ) throws {
        self.directory = directory
        self.running = running
        self.http = http
        self.bus = bus
        self.simulator = simulator
        self.links = links
        clients = try Dictionary(
            uniqueKeysWithValues: PushBusService.allCases.map { service in
                let found = links?.endpoints(of: service) ?? running.topology.endpoints(of: service)
                let endpoints = try found.map { try BusEndpoint(parsing: $0) }
                let client = try BusClient(
                    runtime: bus,
                    name: "test-\(service.rawValue)",
                    endpoints: .fixed(endpoints),
                    security: links?.security ?? .trustedDirectory,
                    window: 64,
                    metrics: Metrics(),
                    log: .silent
                )
                return (service, client)
            }
        )
    }

    /// Starts the simulator and the services, runs `body`, and stops everything by process id.
    static func run(
        _ change: (inout Topology) throws -> Void = { _ in },
        limit: Duration = .seconds(180),
        isRelayElsewhere: Bool = false,
        isOverTCP: Bool = false,
        body: @escaping @Sendable (World) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        var topology = try Topology(directory: directory.path, executables: Executables.folder)
        topology.commonEnvironment = ["SWIFT_BACKTRACE": "enable=no"]
        let plan = ProcessPlan(
            name: "simulator",
            executable: "\(Executables.folder)/apns-simulator",
            environment: [
                "PUSHBUS_SIMULATOR_DIRECTORY": directory.file("apns"),
                "PUSHBUS_SIMULATOR_READY_FILE": directory.file("apns.ready"),
                "PUSHBUS_SIMULATOR_KEEP": "1000000",
            ],
            readyFile: directory.file("apns.ready"),
            output: .file(directory.file("simulator.log"))
        )
        // The Relay's settings name the simulator's ports, so the simulator has to be there first.
        let stage = try Supervisor(log: .silent)
        try stage.add([plan])
        try stage.startAll()
        do {
            try await stage.waitUntilAllReady(within: .seconds(30))
            let ports = stage.ports(of: "simulator")
            try configureRelay(&topology, directory: directory, ports: ports)
            try change(&topology)
            if isRelayElsewhere { try await stageRelay(&topology, directory, stage) }
            let links = isOverTCP ? try CurveLinks(in: directory.path, topology) : nil
            links?.configure(&topology)
            let world = try World(
                directory: directory,
                running: RunningTopology(topology, log: .silent),
                http: HTTPClient(),
                bus: BusRuntime(log: .silent),
                simulator: "http://127.0.0.1:\(ports["http"] ?? 0)",
                links: links
            )
            do {
                try await world.running.start(within: .seconds(60))
                try await within(limit) { try await body(world) }
                await world.close()
            } catch {
                await world.close()
                world.printLogs()
                throw error
            }
            await stage.stopAll()
        } catch {
            await stage.stopAll()
            throw error
        }
    }

    private static func configureRelay(
        _ topology: inout Topology,
        directory: TemporaryDirectory,
        ports: [String: UInt16]
    ) throws {
        struct Credentials: Decodable {
            var key_id: String
            var team_id: String
        }
        let folder = directory.file("apns")
        let credentials = try JSONDecoder().decode(
            Credentials.self,
            from: try Data(contentsOf: URL(filePath: "\(folder)/credentials.json"))
        )
        topology[.registration].environment = [
            "PUSHBUS_REGISTRATION_DEPLOYMENT_ID": "https://pushbus.test/a"
        ]
        topology[.relay].environment = [
            "PUSHBUS_RELAY_APNS_TEAM_ID": credentials.team_id,
            "PUSHBUS_RELAY_APNS_KEY_ID": credentials.key_id,
            "PUSHBUS_RELAY_APNS_KEY_FILE": "\(folder)/apns-key.p8",
            "PUSHBUS_RELAY_APNS_TOPIC": "app.example",
            "PUSHBUS_RELAY_APNS_CA_FILE": "\(folder)/ca.pem",
            "PUSHBUS_RELAY_APNS_SANDBOX_ORIGIN": "localhost:\(ports["sandbox"] ?? 0)",
            "PUSHBUS_RELAY_APNS_PRODUCTION_ORIGIN": "localhost:\(ports["production"] ?? 0)",
        ]
    }

    /// The Relay runs apart from the others, with no endpoint on the bus, and Delivery gets its URL.
    private static func stageRelay(
        _ topology: inout Topology,
        _ directory: TemporaryDirectory,
        _ stage: Supervisor
    ) async throws {
        let folder = directory.file("apns")
        topology[.relay].environment.merge([
            "PUSHBUS_RELAY_BIND": "",
            "PUSHBUS_RELAY_HTTP_CERTIFICATE_FILE": "\(folder)/server.pem",
            "PUSHBUS_RELAY_HTTP_KEY_FILE": "\(folder)/server.key",
        ]) { $1 }
        let name = topology.processName(of: .relay)
        try stage.add(try topology.processes().filter { $0.name == name })
        try stage.start(name)
        guard await stage.waitUntilReady(name), let port = stage.ports(of: name)["http"] else {
            throw SystemTestFailure("the relay elsewhere is not ready")
        }
        topology[.relay].presence = .absent
        topology[.delivery].environment.merge([
            "PUSHBUS_DELIVERY_RELAY": "",
            "PUSHBUS_DELIVERY_RELAY_URL": "https://localhost:\(port)",
            "PUSHBUS_DELIVERY_RELAY_CA_FILE": "\(folder)/ca.pem",
        ]) { $1 }
    }

    private func close() async {
        for client in clients.values { client.stop() }
        await running.stop()
        await links?.stop()
        bus.stop()
        http.stop()
    }

    /// The last lines of every process, for the log of a failed test.
    private func printLogs() {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        for name in names.sorted() where name.hasSuffix(".log") {
            guard let text = try? String(contentsOfFile: directory.file(name), encoding: .utf8)
            else { continue }
            print("---- \(name)")
            for line in text.split(separator: "\n").suffix(30) { print(line) }
        }
    }

    // MARK: What a test asks for

    /// The fault proxies before a service's processes.
    func proxies(of service: PushBusService) -> [FaultProxy] {
        links?.proxies(of: service) ?? running.proxies(of: service)
    }

    /// Runs `pushbus` for this world and returns what it printed.
    func command(_ words: [String]) async throws -> String {
        let name = "pushbus-\(UUID().uuidString)"
        let file = directory.file(name + ".out")
        let supervisor = running.supervisor
        try supervisor.add([
            ProcessPlan(
                name: name,
                executable: "\(Executables.folder)/pushbus",
                arguments: words,
                environment: ["PUSHBUS_DIRECTORY": directory.path],
                output: .file(file)
            )
        ])
        try supervisor.start(name)
        let status = await supervisor.waitForExit(name)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        guard status == .exited(0) else {
            throw SystemTestFailure("pushbus \(words) ended with \(status as Any): \(text)")
        }
        return text
    }

    /// Asks a service over the bus; a process that is away is waited for.
    func ask<Request: BusRequest>(
        _ service: PushBusService,
        _ request: Request,
        timeout: Duration = .seconds(60)
    ) async throws -> Request.Answer {
        guard let client = clients[service] else { preconditionFailure("every service has one") }
        return try await client.ask(request, timeout: timeout, resendEvery: .seconds(2))
    }

    /// Kills a service with SIGKILL and starts it again; returns once it is ready.
    func killAndRestart(_ service: PushBusService) async throws {
        let name = running.topology.processName(of: service)
        _ = await running.supervisor.kill(name)
        try running.supervisor.start(name)
        guard await running.supervisor.waitUntilReady(name) else {
            throw SystemTestFailure("\(name) did not come back")
        }
    }

    /// Publishes alerts and gives the ids of those that were accepted, in order.
    func publish(_ events: [CloudEvent<AlertEventData>]) async throws -> [EventID] {
        let values = try events.map { event in
            try JSONDecoder().decode(JSONValue.self, from: try JSONEncoder().encode(event))
        }
        let answer = try await ask(.eventIngest, EventPublish(events: values))
        return try answer.results.map { result in
            guard [.accepted, .duplicate].contains(result.status), let id = result.eventID else {
                throw SystemTestFailure("publish answered \(result)")
            }
            return id
        }
    }

    /// An account with one signed-in, subscribed and registered phone.
    func phone(_ name: String, role: Role = .member) async throws -> TestPhone {
        let password = Password("correct horse battery staple")
        _ = try await ask(
            .registration,
            UserAdd(username: name, password: password, role: role)
        )
        let pairing = try await ask(.registration, PairingCreate(username: name))
        let phone = try TestPhone(
            http: http,
            server: "http://127.0.0.1:\(running.ports(of: .registration)["http"] ?? 0)",
            installation: InstallationID("phone-\(name)")
        )
        try await phone.pair(pairing.code)
        try await phone.subscribe()
        return phone
    }
}

/// What a system test could not do; the text says what it waited for.
struct SystemTestFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Where the built commands are: beside the test bundle.
enum Executables {
    static let folder: String = {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        return URL(filePath: own ?? CommandLine.arguments[0]).deletingLastPathComponent().path
    }()
}
