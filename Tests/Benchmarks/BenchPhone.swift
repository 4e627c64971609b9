import Contracts
import FoundationEssentials
import HTTPClient
import PushBusCrypto
import Topology

/// One installation that signs in and registers through the interface of the app.
struct BenchPhone: Sendable {
    let installation: InstallationID
    let token: DeviceToken

    init(_ number: Int) throws {
        let digits = String(number)
        let padded = String(repeating: "0", count: max(0, 7 - digits.count)) + digits
        installation = InstallationID("phone-\(padded)")
        guard let token = DeviceToken(Hex.encode(SecureRandom.bytes(32))) else {
            throw BenchFailure("no random bytes")
        }
        self.token = token
    }

    /// Registers that many phones over many connections, under a few accounts.
    static func register(
        _ count: Int,
        from first: Int = 0,
        wantsAlerts: Bool = true,
        in world: BenchWorld
    ) async throws -> [BenchPhone] {
        // Registration lets no more attempts of one source be open at a time than it allows failures.
        let lanes = 16
        let phones = try (first..<first + count).map { try BenchPhone($0) }
        let accounts = (0..<min(8, count)).map { "bench-\(first)-\($0)" }
        for account in accounts {
            let password = Password("correct horse battery staple")
            let user = UserAdd(username: account, password: password, role: .member)
            _ = try await world.ask(.registration, user)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<min(lanes, count) {
                group.addTask {
                    let account = accounts[lane % accounts.count]
                    for index in stride(from: lane, to: count, by: lanes) {
                        try await phones[index].register(account, wantsAlerts, in: world)
                    }
                }
            }
            try await group.waitForAll()
        }
        return phones
    }

    private func register(
        _ account: String,
        _ wantsAlerts: Bool,
        in world: BenchWorld
    ) async throws {
        let pairing = try await world.ask(.registration, PairingCreate(username: account))
        let session = try await call(
            world,
            "POST",
            "/auth/pair",
            nil,
            .object([
                "code": .string(pairing.code.text),
                "installation_id": .string(installation.text),
                "device_name": .string("bench phone"),
            ])
        )
        let access = session["access_token"]?.string
        let settings = try await call(world, "GET", "/push/settings", access, nil)
        let saved = try await call(
            world,
            "PUT",
            "/push/settings",
            access,
            .object([
                "expected_revision": settings["revision"] ?? .null,
                "preferences": .object([
                    "enabled": .bool(true), "alerts": .bool(wantsAlerts), "security": .bool(false),
                    "task_failure": .bool(false), "task_success": .bool(false),
                ]),
            ])
        )
        _ = try await call(
            world,
            "POST",
            "/push/encrypted-register",
            access,
            .object([
                "expected_revision": saved["revision"] ?? .null,
                "device_token": .string(token.hex),
                "environment": .string("sandbox"),
                "content_key_id": .string(KeyID(UUID()).description),
                "content_key": .string(Blob(SecureRandom.bytes(32)).base64),
                "deployment_id": session["deployment_id"] ?? .null,
            ])
        )
    }

    private func call(
        _ world: BenchWorld,
        _ method: String,
        _ path: String,
        _ access: String?,
        _ body: JSONValue?
    ) async throws -> [String: JSONValue] {
        var headers = [("Content-Type", "application/json")]
        if let access { headers.append(("Authorization", "Bearer \(access)")) }
        let reply = try await world.http.send(
            HTTPClientRequest(
                method: method,
                url: world.serverURL + path,
                headers: headers,
                body: try body.map { [UInt8](try JSONEncoder().encode($0)) } ?? [],
                timeout: .seconds(30)
            )
        )
        let answer = try JSONDecoder().decode(JSONValue.self, from: Data(reply.body))
        guard reply.status == 200, let data = answer["data"]?.object else {
            throw BenchFailure(
                "\(method) \(path) answered \(reply.status) \(answer["error"]?["code"] ?? .null)"
            )
        }
        return data
    }
}
