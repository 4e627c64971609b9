import Contracts
import PushBusCrypto
import RegistrationCore
import RegistrationService
import TestKit
import Testing

/// Devices, codes an app asks for, and proofs that only end a session.
@Suite(.timeLimit(.minutes(2)))
struct SessionTests {
    @Test func listsAndEndsDevices() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let binding = try #require(try await phone.recipient()).binding
            world.time.advance(by: .seconds(60))
            let tablet = try await world.login("alice", "tablet")
            try await world.addUser("bob")
            let stranger = try await world.login("bob", "other")
            world.time.advance(by: .seconds(60))
            let renewed = try await phone.refresh()
            let current = Phone(world: world, installation: "p", session: renewed)
            let list = try await current.devices()
            #expect(list.map { $0["installation_id"]?.string } == ["tablet", phone.installation])
            #expect(list[0]["name"]?.string == "Phone of alice")
            #expect(list[0]["current"] == .bool(false))
            #expect(list[1]["current"] == .bool(true))
            let paired = try #require(list[1]["paired_at"]?.integer)
            #expect(list[1]["last_active_at"]?.integer == paired + 120)
            let id = phone.session.string("session_id")
            #expect(try await stranger.end(id).status == 404)
            #expect(try await tablet.end(id).status == 200)
            #expect(try await tablet.end(id).status == 404)
            #expect(try await current.settings().status == 401)
            guard case .ineligible = try await world.check(phone.installation, binding: binding)
            else {
                Issue.record("a revoked device still receives")
                return
            }
            #expect(try await tablet.devices().count == 1)
        }
    }

    @Test func hidesExpiredSessions() async throws {
        try await RegistrationWorld.run { world in
            try await world.addUser("alice")
            let old = try await world.login("alice", "old")
            world.time.advance(by: .seconds(2_592_000))
            let new = try await world.login("alice", "new")
            #expect(try await new.devices().map { $0["installation_id"]?.string } == ["new"])
            #expect(try await new.end(old.session.string("session_id")).status == 404)
        }
    }

    @Test func anAppAsksForAPairingCode() async throws {
        try await RegistrationWorld.run { world in
            try await world.addUser("alice")
            let phone = try await world.login("alice", "phone")
            #expect(try await world.call("POST", "/auth/pairing-code").status == 401)
            let made = try await world.call(
                "POST",
                "/auth/pairing-code",
                token: phone.accessToken
            )
            #expect(made.status == 200)
            #expect(made.string("server_url").hasPrefix("http://127.0.0.1:"))
            let body = """
                {"code":"\(made.string("code"))","installation_id":"tablet","device_name":"n"}
                """
            let paired = try await world.call("POST", "/auth/pair", body)
            #expect(paired.string("user_id") == phone.session.string("user_id"))
            #expect(try await world.call("POST", "/auth/pair", body).status == 401)
        }
    }

    @Test func aProofEndsItsSessionAlone() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let binding = try #require(try await phone.recipient()).binding
            let id = phone.session.string("session_id")
            #expect(try await phone.proof(of: "another").code == "other_session")
            let proof = try await phone.proof(of: id).string("proof")
            #expect(proof.utf8.count >= 43)
            // It is no token.
            #expect(try await world.call("GET", "/devices", token: proof).status == 401)
            let refresh = "{\"refresh_token\":\"\(proof)\"}"
            #expect(try await world.call("POST", "/auth/refresh", refresh).status == 401)
            let other = try await world.login("alice", "tablet")
            let otherID = other.session.string("session_id")
            #expect(try await world.revoke(otherID, proof: proof).code == "invalid_credentials")
            #expect(try await world.revoke(id, proof: "guess").code == "invalid_credentials")
            #expect(try await world.revoke(id, proof: proof).status == 200)
            #expect(try await phone.settings().status == 401)
            guard case .ineligible = try await world.check(phone.installation, binding: binding)
            else {
                Issue.record("a revoked session still receives")
                return
            }
            // A new login on the same installation is not touched by what is left of the old one.
            let again = try await world.login("alice", phone.installation)
            #expect(try await world.revoke(id, proof: proof).status == 200)
            #expect(try await again.settings().status == 200)
            #expect(try await other.settings().status == 200)
        }
    }

    @Test func aProofOutlivesTheSession() async throws {
        try await RegistrationWorld.run { world in
            try await world.addUser("alice")
            let phone = try await world.login("alice", "phone")
            let id = phone.session.string("session_id")
            let proof = try await phone.proof(of: id).string("proof")
            world.time.advance(by: .seconds(2_592_000))
            #expect(try await world.revoke(id, proof: proof).status == 200)
            #expect(try await world.revoke(id, proof: proof).status == 200)
        }
    }

    @Test func aUsedRefreshTokenCanOnlyRevoke() async throws {
        try await RegistrationWorld.run { world in
            try await world.addUser("alice")
            let phone = try await world.login("alice", "phone")
            let id = phone.session.string("session_id")
            let used = phone.refreshToken
            let renewed = try await phone.refresh()
            #expect(renewed.status == 200)
            // The reply was lost: the old token is refused everywhere, and its hash ends the session.
            #expect(try await phone.refresh().status == 401)
            #expect(try await world.call("GET", "/devices", token: used).status == 401)
            let other = try await world.login("alice", "tablet")
            let hash = SHA256.hex(used)
            let otherID = other.session.string("session_id")
            #expect(try await world.revoke(otherID, tokenHash: hash).status == 401)
            #expect(try await world.revoke(id, tokenHash: hash).status == 200)
            let current = Phone(world: world, installation: "phone", session: renewed)
            #expect(try await current.settings().status == 401)
            #expect(try await current.refresh().status == 401)
            #expect(try await other.settings().status == 200)
        }
    }

    @Test func refusesMalformedRevocations() async throws {
        try await RegistrationWorld.run { world in
            for body in [
                "{}", "{\"session_id\":\"a\"}",
                "{\"session_id\":\"a\",\"refresh_token_hash\":\"AB\"}",
                "{\"session_id\":\"a\",\"proof\":\"b\",\"refresh_token_hash\":\"c\"}",
            ] {
                let reply = try await world.call("POST", "/auth/revoke", body)
                #expect(reply.status == 400)
            }
        }
    }
}

extension RegistrationWorld {
    func revoke(_ id: String, proof: String) async throws -> Reply {
        try await call(
            "POST",
            "/auth/revoke",
            "{\"session_id\":\"\(id)\",\"proof\":\"\(proof)\"}"
        )
    }

    func revoke(_ id: String, tokenHash: String) async throws -> Reply {
        try await call(
            "POST",
            "/auth/revoke",
            "{\"session_id\":\"\(id)\",\"refresh_token_hash\":\"\(tokenHash)\"}"
        )
    }
}

extension Phone {
    func devices() async throws -> [JSONValue] {
        let reply = try await world.call("GET", "/devices", token: accessToken)
        guard case .array(let devices)? = reply["devices"] else { return [] }
        return devices
    }

    func end(_ session: String) async throws -> Reply {
        try await world.call("DELETE", "/devices/\(session)", token: accessToken)
    }

    func proof(of session: String) async throws -> Reply {
        try await world.call(
            "POST",
            "/auth/proof",
            "{\"expected_session_id\":\"\(session)\"}",
            token: accessToken
        )
    }
}
