import Contracts
import FoundationEssentials
import Loop
import PushBusCrypto
import RegistrationCore
import ServiceKit
import TestKit
import Testing

/// Goes through every flow at debug level and looks for each secret it used in every log line, in
/// every refusal and in the metrics.
@Suite(.timeLimit(.minutes(2)))
struct SecretTests {
    /// What was used and what must not hold it.
    private final class Trail: Sendable {
        private let box = Locked<(secrets: [String: String], refusals: [String])>(([:], []))

        func used(_ name: String, _ secret: String) {
            #expect(secret.utf8.count >= 6, "\(name) is too short to be looked for")
            box.withLock { $0.secrets[secret] = name }
        }

        /// Keeps what the reply hands out and, if it is one, the refusal.
        func saw(_ reply: Reply) {
            for name in [
                "access_token", "refresh_token", "recovery_token", "proof", "code", "uri",
            ] where !reply.string(name).isEmpty {
                used(name, reply.string(name))
            }
            if reply.status >= 400 { box.withLock { $0.refusals.append(reply.text) } }
        }

        /// Names of secrets that a text holds.
        func leaks(in text: String) -> [String] {
            box.withLock { $0.secrets }.compactMap { secret, name in
                text.contains(secret) ? name : nil
            }
        }

        var secrets: [String: String] { box.withLock { $0.secrets } }
        var refusals: [String] { box.withLock { $0.refusals } }
    }

    @Test func noSecretIsInAnyLogLineErrorOrMetric() async throws {
        let trail = Trail()
        let logs = Observed<LogCollector?>(nil)
        let pages = Observed<[String]>([])
        try await RegistrationWorld.run { world in
            logs.update { $0 = world.logs }
            try await world.peers.startEventIngest()
            try await signIn(world, trail)
            try await register(world, trail)
            try await recover(world, trail)
            try await end(world, trail)
            try await administer(world, trail)
            try await operate(world, trail)
            try await misuse(world, trail)
            pages.update { $0.append(world.context.metrics.render()) }
        } again: { world in
            pages.update { $0.append(world.context.metrics.render()) }
        }
        let collector = try #require(logs.value)
        #expect(collector.lines.count > 10)
        #expect(trail.refusals.count > 15)
        #expect(Set(trail.secrets.values).count >= 14)
        for text in collector.lines + trail.refusals + pages.value {
            #expect(trail.leaks(in: text).isEmpty, "\(text)")
        }
        // The search finds what is there: each secret in a line that somebody might have written.
        for (secret, name) in trail.secrets {
            collector.log().debug("planted", ["value": .string(secret)])
            let line = try #require(collector.lines.last)
            #expect(trail.leaks(in: line).contains(name))
        }
    }

    private static let password = "correct horse"

    private func signIn(_ world: RegistrationWorld, _ trail: Trail) async throws {
        trail.used("password", Self.password)
        try await world.addUser("alice", role: .admin)
        let phone = try await world.login("alice", "phone")
        trail.saw(phone.session)
        trail.saw(try await phone.refresh())
        trail.saw(try await phone.refresh())
        trail.used("wrong password", "wrong battery")
        trail.saw(try await world.tryLogin("alice", password: "wrong battery"))
        trail.saw(try await world.tryLogin("nobody", password: "wrong battery"))
        let code = try await world.ask(PairingCreate(username: "alice")).code.text
        trail.used("pairing code", code)
        let body = "{\"code\":\"\(code)\",\"installation_id\":\"pad\",\"device_name\":\"n\"}"
        let paired = try await world.call("POST", "/auth/pair", body)
        trail.saw(paired)
        trail.saw(try await world.call("POST", "/auth/pair", body))
        let pad = Phone(world: world, installation: "pad", session: paired)
        trail.saw(try await pad.call("POST", "/auth/pairing-code"))
        let id = paired.string("session_id")
        let proof = try await pad.proof(of: id)
        trail.saw(proof)
        trail.saw(try await pad.proof(of: "another"))
        trail.used("wrong proof", "wrong-proof-of-nothing")
        trail.saw(try await world.revoke(id, proof: "wrong-proof-of-nothing"))
        #expect(try await world.revoke(id, proof: proof.string("proof")).status == 200)
        trail.saw(try await pad.settings())
        trail.saw(try await pad.logout())
    }

    private func register(_ world: RegistrationWorld, _ trail: Trail) async throws {
        let phone = try await world.login("alice", "phone")
        trail.saw(phone.session)
        _ = try await phone.save(revision: 0, "enabled", "alerts")
        let (key, token) = (Phone.key(9), "aa1122bb33cc")
        trail.used("content key", key)
        trail.used("device token", token)
        #expect(try await phone.register(revision: 1, token: token, key: key).status == 200)
        trail.saw(try await phone.register(revision: 1, token: token, key: key))
        trail.saw(try await phone.register(revision: 2, token: token + "x", key: key))
        trail.saw(try await phone.register(revision: 2, token: token, key: key + "x"))
        let elsewhere = "https://other.example.org"
        trail.saw(
            try await phone.register(revision: 2, token: token, key: key, deployment: elsewhere)
        )
        let event = "11111111-1111-4111-8111-111111111111"
        #expect(try await phone.test(event, revision: 2).status == 200)
        await world.peers.published.wait { !$0.isEmpty }
        trail.saw(try await phone.test(event, revision: 1))
        #expect(try await phone.readTest(event).status == 200)
        let recipient = try #require(try await phone.recipient())
        #expect(try await phone.queued().verdict() == nil)
        let item = RegistrationCleanup.Item(
            installationID: recipient.installationID,
            binding: recipient.binding,
            tokenHash: Blob(SHA256.hash(Array(token.utf8))),
            kind: .suspect,
            apnsTimestamp: nil,
            confirmedAt: world.time.wall
        )
        let cleanup = RegistrationCleanup(processID: "d", totals: [:], items: [item])
        #expect(try await world.ask(cleanup).results == [.applied])
        trail.saw(try await phone.test("11111111-1111-4111-8111-111111111112", revision: 3))
    }

    private func recover(_ world: RegistrationWorld, _ trail: Trail) async throws {
        let phone = try await world.login("alice", "lost")
        trail.saw(phone.session)
        func open(_ password: String) async throws -> Reply {
            try await world.call(
                "POST",
                "/auth/recovery",
                """
                {"username":"alice","password":"\(password)","installation_id":"lost"}
                """
            )
        }
        trail.saw(try await open("wrong battery"))
        let opened = try await open(Self.password)
        trail.saw(opened)
        let token = opened.string("recovery_token")
        let path = "/auth/recovery/sessions"
        #expect(try await world.call("GET", path, token: token).status == 200)
        trail.saw(try await world.call("DELETE", path + "/unknown", token: token))
        let id = phone.session.string("session_id")
        #expect(try await world.call("DELETE", "\(path)/\(id)", token: token).status == 200)
        trail.saw(try await world.call("GET", path, token: phone.accessToken))
        let code = try await world.ask(PairingCreate(username: "alice")).code.text
        trail.used("recovery by code", code)
        let body = "{\"code\":\"\(code)\",\"installation_id\":\"lost\"}"
        let again = try await world.call("POST", "/auth/recovery", body)
        #expect(again.status == 200)
        trail.saw(again)
        trail.saw(try await world.call("POST", "/auth/recovery", body))
    }

    /// The ways to end a session that need no proof.
    private func end(_ world: RegistrationWorld, _ trail: Trail) async throws {
        let phone = try await world.login("alice", "ending")
        let tablet = try await world.login("alice", "ended")
        trail.saw(phone.session)
        trail.saw(tablet.session)
        trail.saw(try await phone.call("DELETE", "/devices/unknown"))
        let other = tablet.session.string("session_id")
        #expect(try await phone.call("DELETE", "/devices/\(other)").status == 200)
        trail.saw(try await tablet.settings())
        let wrong = Hex.encode(SHA256.hash(Array("no token".utf8)))
        let hash = Hex.encode(SHA256.hash(Array(phone.refreshToken.utf8)))
        trail.used("wrong hash of a token", wrong)
        trail.used("hash of a token", hash)
        let own = phone.session.string("session_id")
        trail.saw(try await world.revoke(own, tokenHash: wrong))
        #expect(try await world.revoke(own, tokenHash: hash).status == 200)
        trail.saw(try await phone.refresh())
        for _ in 0..<10 { _ = try await world.tryLogin("guesser", password: "wrong battery") }
        let heldBack = try await world.tryLogin("guesser", password: "wrong battery")
        #expect(heldBack.status == 429)
        trail.saw(heldBack)
    }

    private func administer(_ world: RegistrationWorld, _ trail: Trail) async throws {
        let root = try await world.login("alice", "desk")
        trail.saw(root.session)
        let password = "battery staple 1"
        trail.used("new password", password)
        let body = "{\"username\":\"bob\",\"password\":\"\(password)\",\"role\":\"member\"}"
        let added = try await root.call("POST", "/admin/users", body)
        trail.saw(try await root.call("POST", "/admin/users", body))
        let bob = "/admin/users/" + added.string("user_id")
        let on = try await root.call("PUT", bob + "/totp", "{\"enabled\":true}")
        trail.saw(on)
        let secret = on.string("uri").split(separator: "secret=").last?.prefix { $0 != "&" }
        trail.used("one-time secret", String(try #require(secret)))
        let code = try RecoveryTests.code(world, on.string("uri"))
        trail.used("one-time code", code)
        for _ in 0..<2 {
            trail.saw(
                try await world.call(
                    "POST",
                    "/auth/login",
                    """
                    {"username":"bob","password":"\(password)","one_time_code":"\(code)",\
                    "installation_id":"b","device_name":"n"}
                    """
                )
            )
        }
        trail.saw(try await world.tryLogin("bob", password: password))
        trail.saw(try await root.call("POST", bob + "/pairing-code"))
        let next = "battery staple 2"
        trail.used("next password", next)
        _ = try await root.call("PUT", bob + "/password", "{\"password\":\"\(next)\"}")
        _ = try await root.call("PUT", bob + "/role", "{\"role\":\"admin\"}")
        trail.saw(try await root.call("PUT", bob + "/password", "{\"password\":7}"))
        #expect(try await root.call("DELETE", bob).status == 200)
    }

    private func operate(_ world: RegistrationWorld, _ trail: Trail) async throws {
        let password = "operator staple"
        trail.used("operator's password", password)
        let changed = UserPasswordChange(username: "alice", password: Password(password))
        _ = try await world.ask(changed)
        let on = try await world.ask(UserTOTPChange(username: "alice", enabled: true))
        trail.used("operator's uri", try #require(on.uri).text)
        let key = try Data(contentsOf: URL(filePath: world.directory.file("registration.db.key")))
        trail.used("master key", Base64.encode([UInt8](key)))
        trail.used("master key in hex", Hex.encode([UInt8](key)))
        _ = try await world.ask(MasterKeyRotate(begin: true))
        await world.logs.wait(for: "master key replaced")
        _ = try await world.ask(RegistrationBackup(path: world.directory.file("copy.db")))
        _ = try await world.ask(UserTOTPChange(username: "alice", enabled: false))
        _ = try await world.ask(RegistrationRenewal())
    }

    /// Secrets in the wrong places.
    private func misuse(_ world: RegistrationWorld, _ trail: Trail) async throws {
        let secret = "misplaced-secret-value"
        trail.used("misplaced secret", secret)
        for (method, path, body) in [
            ("POST", "/auth/login", "{\"username\":\"\(secret)\"}"),
            ("POST", "/auth/login", "{\"password\":\"\(secret)"),
            ("POST", "/auth/refresh", "{\"refresh_token\":[\"\(secret)\"]}"),
            ("POST", "/auth/refresh", "{\"\(secret)\":1}"),
            ("POST", "/auth/revoke", "{\"session_id\":\"\(secret)\",\"proof\":7}"),
            ("POST", "/auth/pair", "\(secret)"),
            ("POST", "/\(secret)", "{}"),
            ("DELETE", "/auth/login", nil),
        ] as [(String, String, String?)] {
            trail.saw(try await world.call(method, path, body, token: secret))
        }
        trail.saw(try await world.call("GET", "/push/test/\(secret)", token: secret))
        trail.saw(try await world.call("GET", "/devices", token: secret))
    }
}
