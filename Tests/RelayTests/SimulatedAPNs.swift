import APNsSimulator
import Contracts
import FoundationEssentials
import HTTP2
import HTTPClient
import Loop
import PushBusCrypto
import RelayCore
import RelayService
import ServiceKit
import TLS
import TestKit
import Testing

/// A pool that talks to the real simulator, both with clocks that only tests move.
final class SimulatedAPNs: PoolObserver {
    let directory: TemporaryDirectory
    let simulator: APNsSimulator
    let loop: HTTP2Loop
    let resolver: NameResolver
    let pool: APNsPool
    let credentials: APNsCredentials
    let client: HTTPClient
    let time: ManualTime
    let metrics = Metrics()
    let log = LogCollector()
    private let stopping = StopSignal()
    private let running: Task<Void, Never>

    /// `settings` as `PATCH /settings` takes them, `key` as `POST /keys`: the pool signs with that key.
    init(
        settings: String = "",
        key: String? = nil,
        deadline: Duration = .seconds(10),
        pingTimeout: Duration = .seconds(2)
    ) async throws {
        directory = try TemporaryDirectory()
        time = ManualTime(wall: SystemTime().wall)
        var simulated = APNsSimulator.Configuration(directory: directory.path)
        simulated.settings = settings
        simulator = try APNsSimulator(simulated, time: time)
        try await simulator.start()
        loop = try HTTP2Loop(name: "pool-test")
        resolver = NameResolver()
        client = try HTTPClient()
        credentials = try await Self.credentials(simulator, client, key)
        var configuration = APNsPool.Configuration(
            environment: .sandbox,
            origin: APNsOrigin(host: "localhost", port: simulator.boundPorts["sandbox"] ?? 0),
            tls: try TLSContext.client(trust: .file(simulator.authorityPath)),
            credentials: credentials
        )
        configuration.deadline = deadline
        configuration.pingTimeout = pingTimeout
        pool = APNsPool(
            configuration,
            loop: loop,
            resolver: resolver,
            time: time,
            random: .seeded(1),
            metrics: metrics,
            log: log.log()
        )
        running = Task { [pool, stopping] in await pool.run(until: stopping) }
    }

    private static func credentials(
        _ simulator: APNsSimulator,
        _ client: HTTPClient,
        _ wish: String?
    ) async throws -> APNsCredentials {
        var teamID = simulator.teamID
        var keyID = simulator.keyID
        var pem = [UInt8](try Data(contentsOf: URL(filePath: simulator.signingKeyPath)))
        if let wish {
            struct Key: Decodable {
                var key_id: String
                var team_id: String
                var private_key: String
            }
            let body = try await call(simulator, client, "POST", "/keys", wish)
            let made = try JSONDecoder().decode(Key.self, from: Data(body))
            (teamID, keyID, pem) = (made.team_id, made.key_id, Array(made.private_key.utf8))
        }
        return try APNsCredentials(
            teamID: teamID,
            keyID: keyID,
            keyPEM: SecretBytes(pem),
            topic: "app.example"
        )
    }

    func stop() async {
        stopping.trigger()
        await running.value
        await pool.stop()
        await simulator.stop()
        client.stop()
        loop.stop()
        resolver.stop()
    }

    /// Calls the simulator's control API and expects a 2xx answer.
    @discardableResult
    func control(_ method: String, _ path: String, _ body: String = "") async throws -> [UInt8] {
        try await Self.call(simulator, client, method, path, body)
    }

    private static func call(
        _ simulator: APNsSimulator,
        _ client: HTTPClient,
        _ method: String,
        _ path: String,
        _ body: String
    ) async throws -> [UInt8] {
        let response = try await client.send(
            HTTPClientRequest(
                method: method,
                url: "http://127.0.0.1:\(simulator.boundPorts["http"] ?? 0)\(path)",
                body: Array(body.utf8)
            )
        )
        #expect((200..<300).contains(response.status), "\(response.text)")
        return response.body
    }

    /// What happens to the next requests.
    func script(_ outcomes: String) async throws {
        try await control("PUT", "/script", #"{"outcomes":[\#(outcomes)]}"#)
    }

    /// What the simulator counted.
    struct Statistics: Decodable {
        var requests: Int
        var connections: Int
        var provider_tokens: Int
    }

    func statistics() async throws -> Statistics {
        let body = try await control("GET", "/statistics")
        return try JSONDecoder().decode(Statistics.self, from: Data(body))
    }

    /// A connection that is open at the simulator.
    struct Connection: Decodable {
        struct Token: Decodable {
            var key_id: String
        }

        var requests: Int
        var pings: Int
        var team_id: String?
        var tokens: [Token]
    }

    /// The open connections, oldest first.
    func connections() async throws -> [Connection] {
        struct Body: Decodable {
            var connections: [Connection]
        }
        let body = try await control("GET", "/connections")
        return try JSONDecoder().decode(Body.self, from: Data(body)).connections
    }

    /// Sends many at once, each to a device of its own, and waits for every verdict.
    func send(_ numbers: Range<Int>) async throws -> [RelayVerdict] {
        let verdicts = Observed([RelayVerdict]())
        await pool.enqueue(try numbers.map { try push($0) }) { known in
            verdicts.update { $0 += known.map(\.verdict) }
        }
        await verdicts.wait { $0.count == numbers.count }
        return verdicts.value
    }

    static func token(_ number: Int) -> String {
        let hex = String(number, radix: 16)
        return String(repeating: "a", count: 64 - hex.utf8.count) + hex
    }

    func push(_ number: Int) throws -> Push {
        let token = try #require(DeviceToken(Self.token(number)))
        let event = try #require(EventID("11111111-1111-4111-8111-111111111111"))
        return Push(
            deviceToken: token,
            apnsID: PushIdentity.apnsID(eventID: event, deviceToken: token) { SHA256.hash($0) },
            collapseID: event.description,
            expiresAt: time.wall.second.adding(seconds: 1800),
            payload: Array(
                #"{"aps":{"alert":{"title":"a","body":"b"},"mutable-content":1}}"#.utf8
            ),
            isYoung: false
        )
    }
}
