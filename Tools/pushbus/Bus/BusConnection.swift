import Bus
import Commands
import Contracts
import FoundationEssentials
import Glibc
import ServiceKit
import Topology
import ZeroMQ

/// Where a running PushBus is and how to get in, as the command line says it.
struct BusConnection: Sendable {
    /// The options that every command over the bus takes.
    static let directoryOption = Command.Option.value(
        "--directory",
        "DIR",
        "where 'pushbus up' runs (default: $PUSHBUS_DIRECTORY, else ~/.pushbus)"
    )

    static let options: [Command.Option] = [
        directoryOption,
        .value("--endpoint", "ENDPOINT", "an endpoint instead: ipc:///path or tcp://host:port"),
        .value("--key", "FILE", "our CURVE key file, for tcp ('pushbus keys make' writes one)"),
        .value("--server-key", "FILE", "the service's public key file, for tcp"),
        .value("--timeout", "SECONDS", "how long to wait for an answer (default 10)"),
    ]

    let directory: String
    let endpoint: String?
    let security: BusSecurity
    let timeout: Duration

    init(_ arguments: Arguments) throws {
        directory = try Self.directory(arguments)
        endpoint = arguments.value("--endpoint")
        let seconds =
            try arguments.value("--timeout", "1 to 3600 seconds") { text in
                Int(text).flatMap { (1...3600).contains($0) ? $0 : nil }
            } ?? 10
        timeout = .seconds(seconds)
        security = try Self.security(arguments)
    }

    /// The directory that the command line or the environment names.
    static func directory(_ arguments: Arguments) throws(UsageError) -> String {
        let environment = ProcessInfo.processInfo.environment
        let named = arguments.value("--directory") ?? environment["PUSHBUS_DIRECTORY"]
        if let named {
            if named.hasPrefix("/") { return named }
            return FileManager.default.currentDirectoryPath + "/" + named
        }
        guard let home = environment["HOME"], home.hasPrefix("/") else {
            throw UsageError("--directory is missing, and HOME does not say where else to look")
        }
        return home + "/.pushbus"
    }

    private static func security(_ arguments: Arguments) throws -> BusSecurity {
        switch (arguments.value("--key"), arguments.value("--server-key")) {
        case (nil, nil): return .trustedDirectory
        case (let key?, let server?):
            return .curve(
                BusCurve(
                    keys: try CurveKeyFile.readSecret(key),
                    serverKey: try CurveKeyFile.readPublic(server)
                )
            )
        default: throw UsageError("--key and --server-key belong together")
        }
    }

    init(directory: String, timeout: Duration) {
        self.directory = directory
        self.timeout = timeout
        endpoint = nil
        security = .trustedDirectory
    }

    /// The sockets of a service's processes that are there.
    func sockets(of service: PushBusService) throws -> [String] {
        var topology: Topology
        do throws(TopologyError) {
            topology = try Topology(directory: directory, executables: "/")
        } catch {
            throw CommandFailure(error.description, exitCode: ExitCode.configuration)
        }
        if service.mayBeSeveral { topology[service].instances = 64 }
        return topology.sockets(of: service).filter { access($0, F_OK) == 0 }
    }

    /// The same connection to one process only.
    func only(_ socket: String) -> BusConnection {
        BusConnection(directory: directory, endpoint: "ipc://" + socket, timeout: timeout)
    }

    private init(directory: String, endpoint: String, timeout: Duration) {
        self.directory = directory
        self.endpoint = endpoint
        self.timeout = timeout
        security = .trustedDirectory
    }

    /// Lends a stay on the bus and ends it afterwards.
    func session<Result: Sendable>(
        _ body: (BusSession) async throws -> Result
    ) async throws -> Result {
        let session = try BusSession(self)
        defer { session.stop() }
        return try await body(session)
    }

    /// Asks one service one thing.
    func ask<Request: BusRequest>(
        _ request: Request,
        of service: PushBusService
    ) async throws -> Request.Answer {
        try await session { try await $0.ask(request, of: service) }
    }

    /// What to tell people about a request without an answer.
    static func failure(_ failure: BusFailure, of service: PushBusService) -> CommandFailure {
        switch failure {
        case .timeout:
            CommandFailure(
                "\(service.title) did not answer in time: 'pushbus status' shows what runs",
                exitCode: ExitCode.unavailable
            )
        case .rejected(let reject):
            CommandFailure(
                "\(service.title) refused: \(reject.message)"
                    + (reject.pointer.map { " (at \($0))" } ?? ""),
                exitCode: reject.code == .retryAfter ? ExitCode.unavailable : ExitCode.failure
            )
        case .stopped:
            CommandFailure("stopped before an answer came", exitCode: ExitCode.unavailable)
        case .malformedAnswer(let why):
            CommandFailure(
                "\(service.title) answered in a form this version does not know: \(why)"
            )
        }
    }
}
