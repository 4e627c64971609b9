import Bus
import Contracts
import FoundationEssentials
import HTTP2
import HTTPClient
import Loop
import PushBusCrypto
import RelayService
import ServiceKit
import TestKit

/// A whole Relay in this process, set up by variables, with a scripted APNs behind it.
final class RelayFixture: Sendable {
    let files: RelayFiles
    let apns: ScriptedAPNs
    /// Apple's other host.
    let production: ScriptedAPNs
    let time: ManualTime
    let context: ProcessContext
    let log = LogCollector()
    let client: HTTPClient
    let bus: BusRuntime
    private let server: HTTP2Server
    private let productionServer: HTTP2Server
    private let loop: HTTP2Loop
    private let stopping = StopSignal()
    private let running: Task<Void, any Error>

    /// Starts it and waits until it listens; `variables` without the common prefix.
    init(
        _ variables: [String: String] = [:],
        hasCredentials: Bool = true,
        script: @escaping ScriptedAPNs.Script = ScriptedAPNs.accepting
    ) async throws {
        files = try RelayFiles()
        apns = ScriptedAPNs(script)
        time = ManualTime(wall: UnixMilliseconds(2_000_000_000_000))
        loop = try HTTP2Loop(name: "apns-test")
        server = HTTP2Server(
            HTTP2Server.Configuration(),
            tls: try files.serverContext(),
            loop: loop,
            handler: apns
        )
        let port = try await server.start()
        production = ScriptedAPNs()
        productionServer = HTTP2Server(
            HTTP2Server.Configuration(),
            tls: try files.serverContext(),
            loop: loop,
            handler: production
        )
        let productionPort = try await productionServer.start()
        var all = [
            "HTTP": "127.0.0.1:0", "BIND": "ipc://\(files.directory.file("relay.sock"))",
            "APNS_SANDBOX_ORIGIN": "localhost:\(port)",
            "APNS_PRODUCTION_ORIGIN": "localhost:\(productionPort)",
            "APNS_CA_FILE": files.authority, "APNS_TOPIC": "app.example",
        ]
        if hasCredentials {
            all["APNS_TEAM_ID"] = "TEAM123456"
            all["APNS_KEY_ID"] = "KEY1234567"
            all["APNS_KEY_FILE"] = files.signingKey
        }
        all.merge(variables) { _, given in given }
        var reader = EnvironmentReader(
            prefix: "PUSHBUS_RELAY_",
            values: Dictionary(uniqueKeysWithValues: all.map { ("PUSHBUS_RELAY_\($0)", $1) })
        )
        context = ProcessContext(name: "relay", log: log.log(), time: time)
        let assembly = try RelayAssembly.build(&reader, context)
        client = try HTTPClient()
        bus = try BusRuntime(log: .silent)
        running = Task { [stopping] in
            try await withThrowingDiscardingTaskGroup { group in
                for service in assembly.services {
                    group.addTask { try await service.run(until: stopping) }
                }
            }
        }
        await log.wait(for: "http listening")
        if hasCredentials { _ = await context.readiness.waitUntilStarted() }
    }

    /// Begins to stop; `stop()` waits for the end.
    func beginStop() { stopping.trigger() }

    func stop() async throws {
        stopping.trigger()
        try await running.value
        client.stop()
        bus.stop()
        await server.stop()
        await productionServer.stop()
        loop.stop()
    }

    var port: UInt16 { context.ports.all["http"] ?? 0 }

    /// Posts to the public endpoint.
    func post(
        _ body: [UInt8],
        method: String = "POST",
        path: String = "/v1/send",
        headers: [(String, String)] = [("Content-Type", "application/json")]
    ) async throws -> HTTPClientResponse {
        try await client.send(
            HTTPClientRequest(
                method: method,
                url: "http://127.0.0.1:\(port)\(path)",
                headers: headers,
                body: body,
                timeout: .seconds(20)
            )
        )
    }

    func post(_ text: String) async throws -> HTTPClientResponse {
        try await post(Array(text.utf8))
    }

    /// Runs the closure on the loop of the scripted APNs.
    func onAPNs(_ body: @escaping @Sendable (HTTP2Server) -> Void) async {
        await withCheckedContinuation { continuation in
            loop.executor.execute { [server] in
                body(server)
                continuation.resume()
            }
        }
    }

    /// A client of the bus endpoint.
    func busClient(forcesJSON: Bool = false) throws -> BusClient {
        try BusClient(
            runtime: bus,
            name: "test",
            endpoints: .fixed([
                BusEndpoint(parsing: "ipc://\(files.directory.file("relay.sock"))")
            ]),
            metrics: Metrics(),
            log: .silent,
            forcesJSON: forcesJSON
        )
    }

    /// A sealed message to the device of that number.
    func message(
        _ number: Int,
        environment: APNsEnvironment = .sandbox,
        expiresAt: Int64 = 2_000_001_800
    ) throws -> RelaySend.Message {
        let hex = String(number, radix: 16)
        let token = String(repeating: "0", count: 8 - hex.utf8.count) + hex
        guard
            let deviceToken = DeviceToken(token),
            let event = EventID("11111111-1111-4111-8111-111111111111"),
            let key = KeyID("22222222-2222-4222-8222-222222222222")
        else { throw CryptoError(.invalidInput, "no message") }
        return RelaySend.Message(
            deviceToken: deviceToken,
            environment: environment,
            eventID: event,
            expiresAt: UnixSeconds(expiresAt),
            envelope: Envelope(
                keyID: key,
                identity: String(repeating: "a", count: 64),
                nonce: Blob(Array(0..<12)),
                ciphertext: Blob([UInt8](repeating: 7, count: 100))
            ),
            isYoung: false
        )
    }
}

extension HTTPClientResponse {
    var text: String { String(decoding: body, as: UTF8.self) }

    /// The `reason` of a reply of the relay.
    var reason: String? { (try? StrictJSON(parsing: body))?["reason"]?.text }
}
