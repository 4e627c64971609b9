import APNsSimulator
import FoundationEssentials
import Glibc
import HTTP2
import HTTPClient
import Loop
import PushBusCrypto
import TLS
import TestKit

/// A running simulator with a connection, a signing key and a client for its control API.
final class SimulatorFixture: Sendable {
    let directory: TemporaryDirectory
    let simulator: APNsSimulator
    let key: ES256PrivateKey
    /// The provider token of all requests that do not bring their own.
    let token: String
    let loop: HTTP2Loop
    let resolver: NameResolver
    let control: HTTPClient

    init(_ change: (inout APNsSimulator.Configuration) -> Void = { _ in }) async throws {
        directory = try TemporaryDirectory()
        var configuration = APNsSimulator.Configuration(directory: directory.file("apns"))
        change(&configuration)
        simulator = try APNsSimulator(configuration)
        try await simulator.start()
        key = try ES256PrivateKey(
            pem: SecretBytes(Array(try Data(contentsOf: URL(filePath: simulator.signingKeyPath))))
        )
        token = try ProviderToken.sign(
            key: key,
            keyID: simulator.keyID,
            teamID: simulator.teamID,
            issuedAtSeconds: Int64(time(nil))
        ).compact
        loop = try HTTP2Loop(name: "sender")
        resolver = NameResolver()
        control = try HTTPClient()
    }

    func port(_ name: String) -> UInt16 { simulator.boundPorts[name] ?? 0 }

    func connect(
        _ environment: String = "sandbox",
        maximumVersion: TLSContext.Version = .tls13
    ) async throws -> HTTP2ClientConnection {
        var configuration = HTTP2ClientConfiguration(
            host: "127.0.0.1",
            port: port(environment),
            tls: try .client(
                trust: .file(simulator.authorityPath),
                maximumVersion: maximumVersion
            )
        )
        configuration.keptHeaders = ["apns-id", "apns-unique-id", "content-type", "retry-after"]
        let connection = HTTP2ClientConnection(configuration, loop: loop, resolver: resolver)
        try await connection.connect(timeout: .seconds(10))
        return connection
    }

    /// Signs another provider token; by default as it should be.
    func jwt(
        keyID: String? = nil,
        teamID: String? = nil,
        ageSeconds: Int64 = 0,
        key other: ES256PrivateKey? = nil
    ) throws -> String {
        try ProviderToken.sign(
            key: other ?? key,
            keyID: keyID ?? simulator.keyID,
            teamID: teamID ?? simulator.teamID,
            issuedAtSeconds: Int64(time(nil)) - ageSeconds
        ).compact
    }

    func request(
        _ token: String = "00ff",
        body: String = #"{"aps":{"alert":"x"}}"#,
        _ changes: [String: String?] = [:]
    ) throws -> HTTP2Request {
        var fields: [String: String] = [
            "authorization": "bearer \(self.token)", "apns-topic": "app.example",
            "apns-push-type": "alert", "apns-priority": "10",
        ]
        var request = HTTP2Request(path: "/3/device/\(token)", body: Array(body.utf8))
        for (name, value) in changes {
            switch name {
            case ":path": request.path = value ?? ""
            case ":method": request.method = value ?? ""
            default: fields[name] = value
            }
        }
        request.headers = fields.sorted { $0.key < $1.key }.map { HTTP2Field($0.key, $0.value) }
        return request
    }

    /// Sends on a connection of its own and gives status and reason.
    func answer(
        _ request: HTTP2Request,
        environment: String = "sandbox"
    ) async throws -> Answer {
        let connection = try await connect(environment)
        defer { connection.shutDown() }
        return await send(request, on: connection)
    }

    func send(_ request: HTTP2Request, on connection: HTTP2ClientConnection) async -> Answer {
        Answer(await connection.send(request, timeout: .seconds(10)))
    }

    /// A call of the control API; gives the status and the parsed body.
    @discardableResult
    func call(
        _ method: String,
        _ path: String,
        _ body: String = ""
    ) async throws -> (status: Int, body: [UInt8]) {
        let response = try await control.send(
            HTTPClientRequest(
                method: method,
                url: "http://127.0.0.1:\(port("http"))\(path)",
                body: Array(body.utf8)
            )
        )
        return (response.status, response.body)
    }

    func received(_ token: String, _ query: String = "") async throws -> [Received] {
        struct Body: Decodable { var received: [Received] }
        let reply = try await call("GET", "/tokens/\(token)/received\(query)")
        return try JSONDecoder().decode(Body.self, from: Data(reply.body)).received
    }

    /// The GOAWAY that the connection got, once it has closed.
    func goAway(of connection: HTTP2ClientConnection) async -> HTTP2GoAway? {
        await withCheckedContinuation { continuation in
            loop.executor.execute {
                if case .closed = connection.state {
                    continuation.resume(returning: connection.goAway)
                    return
                }
                connection.onChange = {
                    if case .closed = connection.state {
                        continuation.resume(returning: connection.goAway)
                    }
                }
            }
        }
    }

    /// The stream limit that the connection goes by.
    func limit(of connection: HTTP2ClientConnection) async -> Int {
        await withCheckedContinuation { continuation in
            loop.executor.execute { continuation.resume(returning: connection.streamLimit) }
        }
    }

    func stop() async {
        control.stop()
        await simulator.stop()
        loop.stop()
        resolver.stop()
    }
}

/// What a sender sees of an answer.
struct Answer: Equatable {
    var outcome: HTTP2Outcome
    var status: Int?
    var reason: String?
    var timestamp: Int64?
    var headers: [HTTP2Field] = []

    init(_ outcome: HTTP2Outcome) {
        self.outcome = outcome
        guard case .response(let response) = outcome else { return }
        status = response.status
        headers = response.headers
        struct Body: Decodable {
            var reason: String
            var timestamp: Int64?
        }
        let body = try? JSONDecoder().decode(Body.self, from: Data(response.body))
        reason = body?.reason
        timestamp = body?.timestamp
    }
}

/// One notification as the control API gives it.
struct Received: Decodable, Equatable, Sendable {
    var number: UInt64
    var environment: String
    var apns_id: String
    var topic: String
    var priority: Int
    var expiration: Int64?
    var collapse_id: String?
    var delivered: Bool
    var payload: String
}
