import Contracts
import FoundationEssentials
import HTTPClient
import Loop
import PushBusCrypto

/// The HTTP calls of a phone, in the smallest form; `Tools/phone` is the real one.
final class TestPhone: Sendable {
    let installation: InstallationID
    let token: DeviceToken
    let contentKey: ContentKey
    let keyID = KeyID(UUID())
    private let http: HTTPClient
    private let server: Locked<String>
    private let session = Locked<[String: JSONValue]>([:])

    init(http: HTTPClient, server: String, installation: InstallationID) throws {
        self.http = http
        self.server = Locked(server)
        self.installation = installation
        guard
            let token = DeviceToken(Hex.encode(SecureRandom.bytes(32))),
            let key = ContentKey(SecureRandom.bytes(32))
        else { throw SystemTestFailure("no random bytes") }
        self.token = token
        contentKey = key
    }

    /// Follows a server that came back on another port.
    func move(to server: String) { self.server.withLock { $0 = server } }

    func pair(_ code: Password) async throws {
        let session = try await call(
            "POST",
            "/auth/pair",
            .object([
                "code": .string(code.text),
                "installation_id": .string(installation.text),
                "device_name": .string("test phone"),
            ])
        )
        self.session.withLock { $0 = session }
    }

    /// What the sign-in said about this phone.
    subscript(_ name: String) -> String { session.withLock { $0[name]?.string } ?? "" }

    /// Enables alerts, and security if wanted, and registers token and key.
    func subscribe(security: Bool = false) async throws {
        let settings = try await call("GET", "/push/settings", nil)
        let saved = try await call(
            "PUT",
            "/push/settings",
            .object([
                "expected_revision": settings["revision"] ?? .null,
                "preferences": .object([
                    "enabled": .bool(true), "alerts": .bool(true), "security": .bool(security),
                    "task_failure": .bool(false), "task_success": .bool(false),
                ]),
            ])
        )
        let deployment = session.withLock { $0["deployment_id"] } ?? .null
        _ = try await call(
            "POST",
            "/push/encrypted-register",
            .object([
                "expected_revision": saved["revision"] ?? .null,
                "device_token": .string(token.hex),
                "environment": .string("sandbox"),
                "content_key_id": .string(keyID.description),
                "content_key": .string(Blob(contentKey.bytes).base64),
                "deployment_id": deployment,
            ])
        )
    }

    func logout() async throws {
        _ = try await call("POST", "/auth/logout", .object([:]))
    }

    /// Asks for a test notification and returns its first answer.
    func test(_ event: EventID) async throws -> [String: JSONValue] {
        let settings = try await call("GET", "/push/settings", nil)
        return try await call(
            "POST",
            "/push/test",
            .object([
                "event_id": .string(event.description),
                "expected_revision": settings["revision"] ?? .null,
            ])
        )
    }

    func testOutcome(_ event: EventID) async throws -> [String: JSONValue] {
        try await call("GET", "/push/test/\(event)", nil)
    }

    /// Opens the envelope of an APNs payload with this phone's key, as the extension would.
    func open(_ payload: JSONValue) throws -> EnvelopePlaintext {
        guard let envelope = payload["serverbee_envelope"] else {
            throw SystemTestFailure("the payload has no envelope")
        }
        let encoded = try JSONEncoder().encode(envelope)
        let text = { (name: String) in self.session.withLock { $0[name]?.string } ?? "" }
        return try EnvelopeSealer.open(
            try JSONDecoder().decode(Envelope.self, from: encoded),
            key: contentKey,
            keyID: keyID,
            recipient: EnvelopeIdentity(
                deploymentID: DeploymentID(text("deployment_id")),
                userID: UserID(text("user_id")),
                installationID: installation
            )
        )
    }

    /// The `data` of the answer.
    func call(
        _ method: String,
        _ path: String,
        _ body: JSONValue?
    ) async throws -> [String: JSONValue] {
        var headers = [("Content-Type", "application/json")]
        if let token = session.withLock({ $0["access_token"]?.string }) {
            headers.append(("Authorization", "Bearer \(token)"))
        }
        let reply = try await http.send(
            HTTPClientRequest(
                method: method,
                url: server.withLock { $0 } + "/api/mobile" + path,
                headers: headers,
                body: try body.map { [UInt8](try JSONEncoder().encode($0)) } ?? [],
                timeout: .seconds(30)
            )
        )
        let answer = try JSONDecoder().decode(JSONValue.self, from: Data(reply.body))
        guard reply.status == 200, let data = answer["data"]?.object else {
            throw SystemTestFailure(
                "\(method) \(path) answered \(reply.status) \(answer["error"]?["code"] ?? .null)"
            )
        }
        return data
    }
}
