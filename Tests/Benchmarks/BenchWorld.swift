import Bus
import Contracts
import FoundationEssentials
import Glibc
import HTTPClient
import Loop
import ServiceKit
import TestKit
import Topology

/// The five services and the simulator as real processes in a directory of their own.
final class BenchWorld: Sendable {
    let directory: String
    let http: HTTPClient
    let simulator: SimulatorControl
    private let stage: Supervisor
    private let running: RunningTopology
    private let bus: BusRuntime
    private let clients: [PushBusService: BusClient]

    /// Every process with a figure of its own, in the order of the path.
    static let processes = PushBusService.allCases.map(\.rawValue) + ["simulator"]

    /// Starts everything and returns once all of it is ready; `database` is the URL of one that takes
    /// the place of files.
    static func start(database: String? = nil) async throws -> BenchWorld {
        let directory = try BenchDirectory.make()
        let stage = try Supervisor(log: .silent)
        do {
            try stage.add([try Self.simulatorPlan(directory)])
            try stage.startAll()
            try await stage.waitUntilAllReady(within: .seconds(30))
            let ports = stage.ports(of: "simulator")
            let credentials = try SimulatorCredentials(folder: "\(directory)/apns")
            var topology = try Self.topology(directory, ports, credentials)
            topology.database = database
            let running = try RunningTopology(topology, log: .silent)
            try await running.start(within: .seconds(60))
            return try BenchWorld(
                directory: directory,
                stage: stage,
                running: running,
                simulator: (ports, credentials)
            )
        } catch {
            await stage.stopAll()
            throw error
        }
    }

    /// Runs the body in a world with files as stores, then in one with a PostgreSQL server of its own
    /// that syncs as in production; the body is also given what precedes the names of results there.
    static func onBothStores(
        _ body: (BenchWorld, _ prefix: String) async throws -> Void
    ) async throws {
        try await run(in: try await start()) { try await body($0, "") }
        let server = try PostgreSQLServer(settings: "max_wal_size = 4GB")
        defer { server.stop() }
        try await run(in: try await start(database: try server.database())) {
            try await body($0, "postgresql.")
        }
    }

    private static func run(
        in world: BenchWorld,
        _ body: (BenchWorld) async throws -> Void
    ) async throws {
        do {
            try await body(world)
            await world.close()
        } catch {
            await world.close()
            throw error
        }
    }

    private init(
        directory: String,
        stage: Supervisor,
        running: RunningTopology,
        simulator: (ports: [String: UInt16], credentials: SimulatorCredentials)
    ) throws {
        self.directory = directory
        self.stage = stage
        self.running = running
        let http = try HTTPClient()
        let bus = try BusRuntime(log: .silent)
        self.http = http
        self.bus = bus
        self.simulator = SimulatorControl(
            http: http,
            controlPort: simulator.ports["http"] ?? 0,
            sandboxPort: simulator.ports["sandbox"] ?? 0,
            credentials: simulator.credentials
        )
        clients = try Dictionary(
            uniqueKeysWithValues: PushBusService.allCases.map { service in
                let endpoints = try running.topology.endpoints(of: service).map {
                    try BusEndpoint(parsing: $0)
                }
                let client = try BusClient(
                    runtime: bus,
                    name: "bench-\(service.rawValue)",
                    endpoints: .fixed(endpoints),
                    window: 64,
                    metrics: Metrics(),
                    log: .silent
                )
                return (service, client)
            }
        )
    }

    /// Stops all processes and removes the directory.
    func close() async {
        for client in clients.values { client.stop() }
        await running.stop()
        await stage.stopAll()
        bus.stop()
        http.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Stops a service as an operator does.
    func stop(_ service: PushBusService) async {
        await running.supervisor.stop(running.topology.processName(of: service))
    }

    /// Starts a service that was stopped and returns once it is ready.
    func restart(_ service: PushBusService) async throws {
        let name = running.topology.processName(of: service)
        try running.supervisor.start(name)
        guard await running.supervisor.waitUntilReady(name) else {
            throw BenchFailure("\(name) did not start again")
        }
    }

    private static func simulatorPlan(_ directory: String) throws -> ProcessPlan {
        ProcessPlan(
            name: "simulator",
            executable: try ExternalProgram.sibling("apns-simulator"),
            environment: [
                "PUSHBUS_SIMULATOR_DIRECTORY": "\(directory)/apns",
                "PUSHBUS_SIMULATOR_READY_FILE": "\(directory)/apns.ready",
                // h2load does not begin with one stream, as APNs wants it; so nobody has to here.
                "PUSHBUS_SIMULATOR_FIRST_STREAMS": "0",
                // Forgetting phones of the run would cost more than all else that it does.
                "PUSHBUS_SIMULATOR_DEVICES": "1001000",
            ],
            readyFile: "\(directory)/apns.ready",
            output: .file("\(directory)/simulator.log")
        )
    }

    private static func topology(
        _ directory: String,
        _ ports: [String: UInt16],
        _ credentials: SimulatorCredentials
    ) throws -> Topology {
        let delivery = try ExternalProgram.sibling("pushbus-delivery")
        let folder = delivery.split(separator: "/").dropLast().joined(separator: "/")
        var topology = try Topology(directory: directory, executables: "/\(folder)")
        topology[.registration].environment = [
            "PUSHBUS_REGISTRATION_DEPLOYMENT_ID": "https://pushbus.example/bench"
        ]
        topology[.relay].environment = [
            "PUSHBUS_RELAY_APNS_TEAM_ID": credentials.team_id,
            "PUSHBUS_RELAY_APNS_KEY_ID": credentials.key_id,
            "PUSHBUS_RELAY_APNS_KEY_FILE": credentials.key_file,
            "PUSHBUS_RELAY_APNS_TOPIC": "app.example",
            "PUSHBUS_RELAY_APNS_CA_FILE": "\(directory)/apns/ca.pem",
            "PUSHBUS_RELAY_APNS_SANDBOX_ORIGIN": "localhost:\(ports["sandbox"] ?? 0)",
            "PUSHBUS_RELAY_APNS_PRODUCTION_ORIGIN": "localhost:\(ports["production"] ?? 0)",
        ]
        // Settings of whoever measures win, so that a value can be tried without a new build.
        for service in PushBusService.allCases {
            let prefix = "PUSHBUS_\(service.rawValue.uppercased())_"
            let given = ProcessInfo.processInfo.environment.filter { $0.key.hasPrefix(prefix) }
            topology[service].environment.merge(given) { $1 }
        }
        return topology
    }

    // MARK: Asking

    /// Asks a service over the bus.
    func ask<Request: BusRequest>(
        _ service: PushBusService,
        _ request: Request
    ) async throws -> Request.Answer {
        guard let client = clients[service] else { preconditionFailure("every service has one") }
        return try await client.ask(request, timeout: .seconds(30))
    }

    /// Publishes events in one message; all of them have to be new.
    func publish(_ events: [JSONValue]) async throws {
        let answer = try await ask(.eventIngest, EventPublish(events: events))
        guard answer.results.allSatisfy({ $0.status == .accepted }) else {
            throw BenchFailure("publish answered \(answer.results)")
        }
    }

    /// Where phones reach Registration.
    var serverURL: String {
        "http://127.0.0.1:\(running.ports(of: .registration)["http"] ?? 0)/api/mobile"
    }

    /// The process ids by name, as in ``processes``.
    var processIDs: [String: Int32] {
        var ids: [String: Int32] = [:]
        for service in PushBusService.allCases {
            ids[service.rawValue] = running.supervisor.processID(
                of: running.topology.processName(of: service)
            )
        }
        ids["simulator"] = stage.processID(of: "simulator")
        return ids
    }
}
