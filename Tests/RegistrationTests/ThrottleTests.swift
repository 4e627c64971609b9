import Contracts
import RegistrationCore
import RegistrationService
import ServiceKit
import TestKit
import Testing

/// Sign-in attempts over real HTTP, held back.
@Suite(.timeLimit(.minutes(2)))
struct ThrottleTests {
    @Test func holdsBackPasswordsAlikeWhetherTheAccountExists() async throws {
        try await RegistrationWorld.run { world in
            try await world.addUser("alice")
            let before = world.passwordChecks
            var texts: [String: [String]] = [:]
            for user in ["alice", "nobody"] {
                for _ in 0..<11 {
                    let reply = try await world.tryLogin(user, password: "wrong horse")
                    let wait = reply.headers["retry-after"] ?? ""
                    texts[user, default: []].append("\(reply.status) \(wait) \(reply.text)")
                }
            }
            #expect(texts["alice"] == texts["nobody"])
            #expect(texts["alice"]?.last?.hasPrefix("429 900 ") == true)
            #expect(texts["alice"]?.dropLast().allSatisfy { $0.hasPrefix("401 ") } == true)
            // An argon2id hash for each answer, of an account that exists or not.
            #expect(world.passwordChecks == before + 20)
            let right = try await world.tryLogin("alice", password: "correct horse")
            #expect(right.code == "too_many_attempts")
            world.time.advance(by: .seconds(900))
            #expect(try await world.tryLogin("alice", password: "correct horse").status == 200)
        }
    }

    @Test func rightPasswordsCountNowhere() async throws {
        try await RegistrationWorld.run { world in
            try await world.addUser("alice")
            for _ in 0..<12 {
                #expect(try await world.tryLogin("alice", password: "correct horse").status == 200)
            }
        }
    }

    @Test func holdsBackASourceThatGuesses() async throws {
        try await RegistrationWorld.run { world in
            let codes = try await world.statuses(21, "/auth/pair") { index in
                "{\"code\":\"guess\(index)\",\"installation_id\":\"p\",\"device_name\":\"n\"}"
            }
            #expect(codes == Array(repeating: 401, count: 20) + [429])
            let tokens = try await world.statuses(101, "/auth/refresh") { index in
                "{\"refresh_token\":\"guess\(index)\"}"
            }
            #expect(tokens == Array(repeating: 401, count: 100) + [429])
        }
    }

    @Test func holdsBackASourceThatGuessesPasswordsAndOneTimeCodes() async throws {
        try await RegistrationWorld.run { world in
            let names = ["alice", "bob", "carol", "dave"]
            for name in names { try await world.addUser(name) }
            for name in names.dropLast() {
                _ = try await world.ask(UserTOTPChange(username: name, enabled: true))
            }
            // Passwords of accounts that exist or not, and codes beside right passwords.
            for number in 0..<25 {
                let wrong = try await world.tryLogin("user-\(number)", password: "wrong horse")
                #expect(wrong.status == 401)
                let name = names[number % 3]
                #expect(try await world.tryLogin(name, code: "abcdef").status == 401)
            }
            #expect(try await world.tryLogin("dave", password: "correct horse").status == 429)
            let recovery = """
                {"username":"dave","password":"correct horse","installation_id":"p"}
                """
            let refused = try await world.call("POST", "/auth/recovery", recovery)
            #expect(refused.code == "too_many_attempts")
            #expect(refused.headers["retry-after"] == "900")
            _ = try await world.pair("dave", "p")
            world.time.advance(by: .seconds(900))
            #expect(try await world.tryLogin("dave", password: "correct horse").status == 200)
        }
    }

    @Test func holdsBackAnAccountThatRefreshesWithoutPause() async throws {
        try await RegistrationWorld.run { world in
            try await world.addUser("alice")
            var phone = try await world.login("alice", "p")
            for _ in 0..<200 {
                let reply = try await phone.refresh()
                try #require(reply.status == 200)
                phone = Phone(world: world, installation: "p", session: reply)
            }
            #expect(try await phone.refresh().code == "too_many_attempts")
            world.time.advance(by: .seconds(900))
            // A refused attempt has not spent the token.
            #expect(try await phone.refresh().status == 200)
        }
    }

    @Test func holdsBackAnAccountThatIsAskedForCodes() async throws {
        try await RegistrationWorld.run { world in
            let alice = try await world.registeredPhone("alice")
            let admin = try await world.registeredPhone("root", token: "bb22", role: .admin)
            let id = alice.session.string("user_id")
            // Whoever asks, it is one account that can be signed in with what is made.
            for number in 0..<30 {
                let (path, phone) =
                    number % 2 == 0
                    ? ("/auth/pairing-code", alice) : ("/admin/users/\(id)/pairing-code", admin)
                #expect(try await phone.call("POST", path, "{}").status == 200)
            }
            let own = try await alice.call("POST", "/auth/pairing-code", "{}")
            #expect(own.code == "too_many_attempts")
            #expect(own.headers["retry-after"] == "900")
            let path = "/admin/users/\(id)/pairing-code"
            #expect(try await admin.call("POST", path, "{}").status == 429)
            // Others are not held back, nor is an operator.
            #expect(try await admin.call("POST", "/auth/pairing-code", "{}").status == 200)
            _ = try await world.pair("alice", "tablet")
            world.time.advance(by: .seconds(899))
            #expect(try await alice.call("POST", "/auth/pairing-code", "{}").status == 429)
            world.time.advance(by: .seconds(1))
            let renewed = try await alice.refreshed()
            #expect(try await renewed.call("POST", "/auth/pairing-code", "{}").status == 200)
        }
    }

    @Test func oneNetworkIsOneSource() throws {
        let gate = SignInGate(time: ManualTime(), random: .seeded(1), metrics: Metrics())
        for number in 0..<20 {
            _ = try gate.enter(.pair, source: "2001:db8:1:2::\(number)")
        }
        #expect(throws: RequestProblem.self) {
            try gate.enter(.pair, source: "2001:db8:1:2:ffff::1")
        }
        _ = try gate.enter(.pair, source: "2001:db8:1:3::1")
        _ = try gate.enter(.pair, source: "192.0.2.1")
    }
}

extension RegistrationWorld {
    /// How many passwords were hashed so far.
    var passwordChecks: UInt64 {
        context.metrics.counter("pushbus_registration_password_checks_total", help: "").value
    }

    func tryLogin(_ user: String, password: String) async throws -> Reply {
        try await call(
            "POST",
            "/auth/login",
            """
            {"username":"\(user)","password":"\(password)",\
            "installation_id":"p","device_name":"n"}
            """
        )
    }

    fileprivate func tryLogin(_ user: String, code: String) async throws -> Reply {
        try await call(
            "POST",
            "/auth/login",
            """
            {"username":"\(user)","password":"correct horse","one_time_code":"\(code)",\
            "installation_id":"p","device_name":"n"}
            """
        )
    }

    fileprivate func statuses(
        _ count: Int,
        _ path: String,
        _ body: (Int) -> String
    ) async throws -> [Int] {
        var statuses: [Int] = []
        for index in 0..<count {
            statuses.append(try await call("POST", path, body(index)).status)
        }
        return statuses
    }
}
