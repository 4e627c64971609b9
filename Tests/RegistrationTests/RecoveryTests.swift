import Contracts
import PushBusCrypto
import RegistrationCore
import RegistrationService
import TestKit
import Testing

/// One-time codes and the recovery of sessions, over real HTTP and bus.
@Suite(.timeLimit(.minutes(2)))
struct RecoveryTests {
    static func login(
        _ world: RegistrationWorld,
        code: String?
    ) async throws -> Reply {
        let extra = code.map { ",\"one_time_code\":\"\($0)\"" } ?? ""
        return try await world.call(
            "POST",
            "/auth/login",
            """
            {"username":"alice","password":"correct horse",\
            "installation_id":"p","device_name":"n"\(extra)}
            """
        )
    }

    static func bytes(base32 text: Substring) -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        let bits = text.flatMap { letter in
            let value = alphabet.firstIndex(of: letter) ?? 0
            return (0..<5).reversed().map { UInt8(value >> $0 & 1) }
        }
        return stride(from: 0, to: bits.count - 7, by: 8).map { start in
            bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | $1 }
        }
    }

    /// The code of now, as an authenticator app makes it from the URI.
    static func code(_ world: RegistrationWorld, _ uri: String) throws -> String {
        let text = try #require(uri.split(separator: "secret=").last?.prefix { $0 != "&" })
        let secret = bytes(base32: text)
        let step = OneTimeCode.step(at: world.time.wall.second)
        return OneTimeCode.code(ofStep: step) {
            HMACSHA1.code(for: $0, key: SecretBytes(secret))
        }
    }

    @Test func asksForAOneTimeCodeThatIsGoodOnce() async throws {
        try await RegistrationWorld.run { world in
            try await world.addUser("alice")
            let on = try await world.ask(UserTOTPChange(username: "alice", enabled: true))
            let uri = try #require(on.uri).text
            #expect(try await world.ask(UserList()).users.map(\.totp) == [true])
            #expect(try await Self.login(world, code: nil).code == "one_time_code_required")
            // Without the right password nothing is said about codes.
            #expect(
                try await world.tryLogin("alice", password: "wrong").code == "invalid_credentials"
            )
            let code = try Self.code(world, uri)
            #expect(try await Self.login(world, code: code).status == 200)
            #expect(try await Self.login(world, code: code).code == "invalid_credentials")
            world.time.advance(by: .seconds(30))
            let next = try Self.code(world, uri)
            world.time.advance(by: .seconds(30))
            #expect(try await Self.login(world, code: next).status == 200)
            world.time.advance(by: .seconds(300))
            let late = try Self.code(world, uri)
            world.time.advance(by: .seconds(60))
            #expect(try await Self.login(world, code: late).status == 401)
            _ = try await world.ask(UserTOTPChange(username: "alice", enabled: false))
            #expect(try await Self.login(world, code: nil).status == 200)
        }
    }

    @Test func guessedCodesAreHeldBack() async throws {
        try await RegistrationWorld.run { world in
            try await world.addUser("alice")
            _ = try await world.ask(UserTOTPChange(username: "alice", enabled: true))
            for _ in 0..<10 { _ = try await Self.login(world, code: "abcdef") }
            #expect(try await Self.login(world, code: "abcdef").code == "too_many_attempts")
        }
    }

    @Test func endsExactlyTheSessionThatIsChosen() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let binding = try #require(try await phone.recipient()).binding
            let tablet = try await world.login("alice", "tablet")
            try await world.addUser("bob")
            let bob = try await world.login("bob", phone.installation)
            let opened = try await world.call(
                "POST",
                "/auth/recovery",
                """
                {"username":"alice","password":"correct horse",\
                "installation_id":"\(phone.installation)"}
                """
            )
            #expect(opened["expires_in"] == .integer(300))
            let token = opened.string("recovery_token")
            // It signs nobody in.
            #expect(try await world.call("GET", "/devices", token: token).status == 401)
            world.time.advance(by: .seconds(299))
            let path = "/auth/recovery/sessions"
            let listed = try await world.call("GET", path, token: token)
            guard case .array(let sessions)? = listed["sessions"] else {
                Issue.record("no list of sessions")
                return
            }
            let id = phone.session.string("session_id")
            #expect(sessions.map { $0["session_id"]?.string } == [id])
            #expect(sessions.first?["name"]?.string == "Phone of alice")
            for other in [tablet, bob] {
                let otherID = other.session.string("session_id")
                let refused = try await world.call("DELETE", "\(path)/\(otherID)", token: token)
                #expect(refused.status == 404)
            }
            #expect(try await world.call("DELETE", "\(path)/\(id)", token: token).status == 200)
            #expect(try await world.call("DELETE", "\(path)/\(id)", token: token).status == 401)
            #expect(try await world.call("GET", path, token: token).code == "unauthorized")
            #expect(try await phone.refresh().status == 401)
            #expect(try await tablet.settings().status == 200)
            #expect(try await bob.settings().status == 200)
            guard case .ineligible = try await world.check(phone.installation, binding: binding)
            else {
                Issue.record("an ended session still receives")
                return
            }
        }
    }

    @Test func anAuthorizationEndsNoSessionThatBeganAfterIt() async throws {
        try await RegistrationWorld.run { world in
            let path = "/auth/recovery/sessions"
            try await world.addUser("alice")
            var phone = try await world.login("alice", "p")
            for isUsed in [true, false] {
                let opened = try await world.call(
                    "POST",
                    "/auth/recovery",
                    """
                    {"username":"alice","password":"correct horse","installation_id":"p"}
                    """
                )
                let token = opened.string("recovery_token")
                #expect(try await world.call("GET", path, token: token).status == 200)
                if isUsed {
                    let id = phone.session.string("session_id")
                    let ended = try await world.call("DELETE", "\(path)/\(id)", token: token)
                    #expect(ended.status == 200)
                }
                phone = try await world.login("alice", "p")
                let id = phone.session.string("session_id")
                #expect(try await world.call("GET", path, token: token).status == 401)
                let refused = try await world.call("DELETE", "\(path)/\(id)", token: token)
                #expect(refused.status == 401)
                #expect(try await phone.settings().status == 200)
            }
        }
    }

    @Test func beingAskedForACodeCountsNowhere() async throws {
        try await RegistrationWorld.run { world in
            try await world.addUser("alice")
            let on = try await world.ask(UserTOTPChange(username: "alice", enabled: true))
            for _ in 0..<12 {
                #expect(try await Self.login(world, code: nil).code == "one_time_code_required")
            }
            let code = try Self.code(world, try #require(on.uri).text)
            #expect(try await Self.login(world, code: code).status == 200)
        }
    }

    @Test func aFreshPairingCodeRecoversToo() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let code = try await world.ask(PairingCreate(username: "alice")).code.text
            let body = "{\"code\":\"\(code)\",\"installation_id\":\"\(phone.installation)\"}"
            let opened = try await world.call("POST", "/auth/recovery", body)
            #expect(opened.string("user_id") == phone.session.string("user_id"))
            #expect(try await world.call("POST", "/auth/recovery", body).status == 401)
            #expect(try await phone.settings().status == 200)
            let wrong = "{\"code\":\"guess\",\"installation_id\":\"p\"}"
            let refused = try await world.call("POST", "/auth/recovery", wrong)
            #expect(refused.code == "invalid_credentials")
            let (path, token) = ("/auth/recovery/sessions", opened.string("recovery_token"))
            world.time.advance(by: .seconds(299))
            #expect(try await world.call("GET", path, token: token).status == 200)
            world.time.advance(by: .seconds(1))
            #expect(try await world.call("GET", path, token: token).code == "unauthorized")
        }
    }
}
