import Contracts
import FoundationEssentials
import Loop
import PushBusDevice

/// A transport whose replies the test writes, one closure for all requests.
final class ScriptedServer: HTTPTransport {
    struct Seen: Sendable {
        var method: String
        var path: String
        var bearer: String?
        var body: JSONValue?
    }

    typealias Script = @Sendable (Seen) async throws(TransportFailure) -> TransportReply

    private let seen = Locked<[Seen]>([])
    private let script: Script

    init(_ script: @escaping Script) { self.script = script }

    var requests: [Seen] { seen.withLock { $0 } }

    func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportReply {
        let path = request.url.replacing("https://push.example.test", with: "")
        let bearer = request.headers.first { $0.name == "Authorization" }?.value
        let one = Seen(
            method: request.method,
            path: path,
            bearer: bearer?.replacing("Bearer ", with: ""),
            body: try? JSONDecoder().decode(JSONValue.self, from: Data(request.body))
        )
        seen.withLock { $0.append(one) }
        return try await script(one)
    }

    static func data(_ value: JSONValue, status: Int = 200) -> TransportReply {
        let bytes = (try? JSONValue.object(["data": value]).canonicalBytes()) ?? []
        return TransportReply(status: status, body: bytes)
    }

    static func refusal(
        _ status: Int,
        _ message: String = "no",
        code: String = "stale_revision"
    ) -> TransportReply {
        let body = JSONValue.object([
            "error": .object(["code": .string(code), "message": .string(message)])
        ])
        return TransportReply(status: status, body: (try? body.canonicalBytes()) ?? [])
    }

    /// A session as login, pairing and refresh answer it, with numbered tokens.
    static func session(_ number: Int, expiresIn: Int64 = 900) -> TransportReply {
        data([
            "session_id": .string("session-1"), "user_id": .string("user-1"),
            "deployment_id": .string("https://push.example.test"), "role": .string("member"),
            "access_token": .string("access-\(number)"),
            "refresh_token": .string("refresh-\(number)"), "expires_in": .integer(expiresIn),
        ])
    }

    static func data(_ members: [String: JSONValue]) -> TransportReply { data(.object(members)) }

    static func settings(revision: Int64, enabled: Bool = false) -> TransportReply {
        data([
            "revision": .integer(revision),
            "preferences": .object([
                "enabled": .bool(enabled), "alerts": .bool(enabled), "security": .bool(false),
                "task_failure": .bool(false), "task_success": .bool(false),
            ]),
            "security_allowed": .bool(false), "tasks_allowed": .bool(false),
            "task_failure_available": .bool(false), "registered": .bool(false),
            "delivery_available": .bool(false), "test_available": .bool(false),
        ])
    }
}
