import Contracts
import FoundationEssentials
import HTTP2
import Loop
import PushBusCrypto
import RelayCore
import RelayService
import ServiceKit
import TLS
import TestKit

/// One request as the scripted APNs saw it.
struct SeenPush: Sendable {
    /// From 0, over all connections.
    let index: Int
    /// From 1, in the order the connections were accepted.
    let connection: UInt64
    let stream: Int32
    let path: String
    let headers: [String: String]
    let body: [UInt8]

    var token: String { headers["authorization"] ?? "" }
}

/// A TLS and HTTP/2 server whose answers a test writes; all scripts run on its loop.
final class ScriptedAPNs: HTTP2ServerHandler {
    typealias Script = @Sendable (SeenPush, HTTP2ServerConnection) -> Void

    private static let recorded = [
        ":method", "authorization", "apns-topic", "apns-push-type", "apns-priority", "apns-id",
        "apns-collapse-id", "apns-expiration",
    ]

    let seen = Observed<[SeenPush]>([])
    let opened = Observed(0)
    let closed = Observed(0)
    /// A closure right inside a lock box would be wrapped once more at every access.
    private struct Holder: Sendable {
        var script: Script
    }

    private let holder: Locked<Holder>

    init(_ script: @escaping Script = ScriptedAPNs.accepting) {
        holder = Locked(Holder(script: script))
    }

    static let accepting: Script = { push, connection in
        connection.respond(push.stream, HTTP2ServerResponse(status: 200))
    }

    func change(_ new: @escaping Script) { holder.withLock { $0.script = new } }

    func connectionOpened(_ connection: HTTP2ServerConnection) { opened.update { $0 += 1 } }

    func connectionClosed(_ connection: HTTP2ServerConnection) { closed.update { $0 += 1 } }

    func requestEnded(
        _ request: borrowing HTTP2ServerRequest,
        on connection: HTTP2ServerConnection
    ) {
        var headers: [String: String] = [:]
        for name in Self.recorded {
            if let value = request.headers[name] { headers[name] = value }
        }
        let push = SeenPush(
            index: seen.value.count,
            connection: connection.id,
            stream: request.stream,
            path: request.path,
            headers: headers,
            body: request.body
        )
        seen.update { $0.append(push) }
        holder.withLock { $0.script }(push, connection)
    }
}

extension HTTP2ServerConnection {
    /// An error answer as APNs writes it.
    func refuse(_ push: SeenPush, _ status: Int, _ reason: String, timestamp: Int64? = nil) {
        let stamp = timestamp.map { #","timestamp":\#($0)"# } ?? ""
        let body = Array(#"{"reason":"\#(reason)"\#(stamp)}"#.utf8)
        respond(push.stream, HTTP2ServerResponse(status: status, body: body))
    }
}

/// Certificates and a signing key in a temporary directory.
final class RelayFiles: Sendable {
    let directory: TemporaryDirectory
    let key: ES256PrivateKey

    var authority: String { directory.file("ca.pem") }
    var stranger: String { directory.file("stranger.pem") }
    var signingKey: String { directory.file("key.p8") }

    init() throws {
        directory = try TemporaryDirectory()
        key = try ES256PrivateKey.generate()
        // The wall clock of the test is not the one that TLS looks at.
        let now = SystemTime().wall.second.seconds
        let authority = try CertificateAuthority(name: "Test CA", nowSeconds: now)
        let stranger = try CertificateAuthority(name: "Stranger", nowSeconds: now)
        let server = try authority.issue(
            hosts: ["localhost", "127.0.0.1"],
            notBeforeSeconds: now - 3600,
            notAfterSeconds: now + 3600
        )
        try write(authority.certificatePEM, "ca.pem")
        try write(stranger.certificatePEM, "stranger.pem")
        try write(server.certificatePEM, "server.pem")
        try write(server.privateKeyPEM.withBytes { Array($0) }, "server.key")
        try write(key.pem().withBytes { Array($0) }, "key.p8")
    }

    private func write(_ bytes: [UInt8], _ name: String) throws {
        try Data(bytes).write(to: URL(filePath: directory.file(name)))
    }

    func serverContext() throws -> TLSContext {
        try TLSContext.server(
            certificateChainFile: directory.file("server.pem"),
            privateKeyFile: directory.file("server.key")
        )
    }

    func credentials() throws -> APNsCredentials {
        try APNsCredentials(
            teamID: "TEAM123456",
            keyID: "KEY1234567",
            keyPEM: key.pem(),
            topic: "app.example"
        )
    }
}

/// A pool that talks to a scripted APNs over real TLS and HTTP/2, with clocks that stand still.
final class PoolFixture: Sendable {
    let files: RelayFiles
    let apns: ScriptedAPNs
    let server: HTTP2Server
    let serverLoop: HTTP2Loop
    let loop: HTTP2Loop
    let resolver: NameResolver
    let pool: APNsPool
    let time = ManualTime(wall: UnixMilliseconds(2_000_000_000_000))
    let metrics = Metrics()
    let log = LogCollector()
    private let stopping = StopSignal()
    private let running: Task<Void, Never>

    init(
        settings: HTTP2ServerSettings = HTTP2ServerSettings(),
        trustsStranger: Bool = false,
        isReachable: Bool = true,
        deadline: Duration = .seconds(10),
        queueLimit: Int = 4_096,
        connections: Int = 1,
        standsStill: Bool = true,
        script: @escaping ScriptedAPNs.Script = ScriptedAPNs.accepting
    ) async throws {
        files = try RelayFiles()
        apns = ScriptedAPNs(script)
        serverLoop = try HTTP2Loop(name: "apns-test")
        loop = try HTTP2Loop(name: "pool-test")
        resolver = try NameResolver()
        var serving = HTTP2Server.Configuration()
        serving.settings = settings
        server = HTTP2Server(
            serving,
            tls: try files.serverContext(),
            loop: serverLoop,
            handler: apns
        )
        let port = try await server.start()
        if !isReachable { await server.stop() }
        var configuration = APNsPool.Configuration(
            environment: .sandbox,
            origin: APNsOrigin(host: "localhost", port: port),
            tls: try TLSContext.client(
                trust: .file(trustsStranger ? files.stranger : files.authority)
            ),
            credentials: try files.credentials()
        )
        configuration.deadline = deadline
        configuration.queueLimit = queueLimit
        configuration.connections = connections
        pool = APNsPool(
            configuration,
            loop: loop,
            resolver: resolver,
            time: standsStill ? time : SystemTime(),
            random: .seeded(1),
            metrics: metrics,
            log: log.log()
        )
        running = Task { [pool, stopping] in await pool.run(until: stopping) }
    }

    /// Stops everything; the pool first.
    func stop() async {
        stopping.trigger()
        await running.value
        await pool.stop()
        await server.stop()
        loop.stop()
        serverLoop.stop()
        resolver.stop()
    }

    func push(
        _ number: Int = 0,
        isYoung: Bool = false,
        expiresIn seconds: Int64 = 1800
    ) throws -> Push {
        let hex = String(number, radix: 16)
        let token = String(repeating: "0", count: 8 - hex.utf8.count) + hex
        guard let deviceToken = DeviceToken(token) else { throw CryptoError(.invalidInput, token) }
        return Push(
            deviceToken: deviceToken,
            apnsID: "11111111-1111-4111-8111-1111\(token)",
            collapseID: "22222222-2222-4222-8222-222222222222",
            expiresAt: time.wall.second.adding(seconds: seconds),
            payload: Array(#"{"aps":{}}"#.utf8),
            isYoung: isYoung
        )
    }

    /// Sends many at once and waits for every verdict, in order of the messages.
    func send(_ count: Int, isYoung: Bool = false) async throws -> [RelayVerdict] {
        let pushes = try (0..<count).map { try push($0, isYoung: isYoung) }
        let verdicts = Observed([Int: RelayVerdict]())
        let repeats = Observed(0)
        await pool.enqueue(pushes) { known in
            for (index, verdict) in known {
                if verdicts.value[index] != nil { repeats.update { $0 += 1 } }
                verdicts.update { $0[index] = verdict }
            }
        }
        let all = await verdicts.wait { $0.count == count } ?? [:]
        if repeats.value > 0 { throw CryptoError(.invalidInput, "a message got two verdicts") }
        return (0..<count).compactMap { all[$0] }
    }

    /// A counter by the name of an event between the pool and APNs.
    func count(_ event: String) -> Double {
        let name =
            #"pushbus_relay_transport_total{environment="sandbox",event="\#(event)"}"#
        return metrics.snapshot()[name] ?? -1
    }

    /// Different provider tokens on the wire.
    var tokens: Set<String> { Set(apns.seen.value.map(\.token)) }
}
