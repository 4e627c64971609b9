import Contracts
import Glibc
import HTTP2
import Loop
import PushBusCrypto
import RelayCore
import RelayService
import ServiceKit
import TLS
import TestKit

/// A pool that talks to a scripted APNs over real TLS and HTTP/2, with clocks that stand still.
final class PoolFixture: PoolObserver {
    let files: RelayFiles
    let apns: ScriptedAPNs
    let server: HTTP2Server
    let serverLoop: HTTP2Loop
    let loop: HTTP2Loop
    let resolver: NameResolver
    let pool: APNsPool
    private let port: UInt16
    /// Takes the place of the first one after `restart()`.
    private let second = Locked<HTTP2Server?>(nil)
    let time = ManualTime(wall: UnixMilliseconds(2_000_000_000_000))
    let metrics = Metrics()
    let log = LogCollector()
    private let stopping = StopSignal()
    private let running: Task<Void, Never>

    init(
        settings: HTTP2ServerSettings = HTTP2ServerSettings(),
        certificate: String = "server",
        maximumVersion: TLSContext.Version = .tls13,
        isReachable: Bool = true,
        deadline: Duration = .seconds(10),
        queueLimit: Int = 4_096,
        connections: Int = 1,
        pingTimeout: Duration = .seconds(2),
        connectTimeout: Duration = .seconds(5),
        resolver: NameResolver = NameResolver(),
        standsStill: Bool = true,
        script: @escaping ScriptedAPNs.Script = ScriptedAPNs.accepting
    ) async throws {
        files = try RelayFiles()
        apns = ScriptedAPNs(script)
        serverLoop = try HTTP2Loop(name: "apns-test")
        loop = try HTTP2Loop(name: "pool-test")
        self.resolver = resolver
        var serving = HTTP2Server.Configuration()
        serving.settings = settings
        server = HTTP2Server(
            serving,
            tls: try files.serverContext(certificate, maximumVersion: maximumVersion),
            loop: serverLoop,
            handler: apns
        )
        port = try await server.start()
        if !isReachable { await server.stop() }
        var configuration = APNsPool.Configuration(
            environment: .sandbox,
            origin: APNsOrigin(host: "localhost", port: port),
            tls: try TLSContext.client(trust: .file(files.authority)),
            credentials: try files.credentials()
        )
        configuration.deadline = deadline
        configuration.queueLimit = queueLimit
        configuration.connections = connections
        configuration.pingTimeout = pingTimeout
        configuration.connectTimeout = connectTimeout
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
        await second.withLock { $0 }?.stop()
        loop.stop()
        serverLoop.stop()
        resolver.stop()
    }

    /// Serves again where nobody was reachable.
    func restart() async throws {
        var serving = HTTP2Server.Configuration()
        serving.port = port
        let server = HTTP2Server(
            serving,
            tls: try files.serverContext(),
            loop: serverLoop,
            handler: apns
        )
        second.withLock { $0 = server }
        _ = try await server.start()
    }

    /// Runs the closure on the loop of the scripted APNs with its connections, oldest first.
    func onAPNs<Value: Sendable>(
        _ body: @escaping @Sendable ([HTTP2ServerConnection]) -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            serverLoop.executor.execute { [server] in
                continuation.resume(returning: body(server.openConnections))
            }
        }
    }

    func push(
        _ number: Int = 0,
        isYoung: Bool = false,
        expiresIn seconds: Int64 = 1800,
        payloadBytes: Int = 10
    ) throws -> Push {
        let hex = String(number, radix: 16)
        let token = String(repeating: "0", count: 8 - hex.utf8.count) + hex
        guard let deviceToken = DeviceToken(token) else { throw CryptoError(.invalidInput, token) }
        return Push(
            deviceToken: deviceToken,
            apnsID: "11111111-1111-4111-8111-1111\(token)",
            collapseID: "22222222-2222-4222-8222-222222222222",
            expiresAt: time.wall.second.adding(seconds: seconds),
            payload: Array(#"{"aps":{}}"#.utf8)
                + [UInt8](repeating: 0x20, count: payloadBytes - 10),
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

    /// CPU time that the thread of the pool has used.
    func loopCPU() async -> Duration {
        await withCheckedContinuation { continuation in
            loop.executor.execute {
                var time = timespec()
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
                let used = Duration.seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
                continuation.resume(returning: used)
            }
        }
    }

    /// Different provider tokens on the wire.
    var tokens: Set<String> { Set(apns.seen.value.map(\.token)) }
}
