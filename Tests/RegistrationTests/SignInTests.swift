import Bus
import Contracts
import PushBusCrypto
import RegistrationCore
import RegistrationService
import TestKit
import Testing

/// Accounts, sessions, tokens and pairing over real HTTP and bus.
@Suite(.timeLimit(.minutes(2)))
struct SignInTests {
    @Test func signsInWithAPassword() async throws {
        try await RegistrationWorld.run { world in
            let added = try await world.addUser("alice", role: .admin)
            #expect(added.added)
            #expect(try await world.addUser("alice").added == false)
            let phone = try await world.login("alice", "phone-1")
            #expect(phone.session.string("user_id") == added.userID.text)
            #expect(phone.session.string("role") == "admin")
            #expect(phone.session.string("deployment_id") == RegistrationWorld.deployment)
            #expect(phone.session.string("installation_id") == "phone-1")
            #expect(phone.session["expires_in"] == .integer(900))
            #expect(phone.session.headers["cache-control"] == "no-store")
            #expect(try await phone.settings().status == 200)
        }
    }

    @Test func refusesWrongCredentialsAlike() async throws {
        try await RegistrationWorld.run { world in
            try await world.addUser("alice")
            for (user, password) in [("alice", "wrong"), ("nobody", "correct horse")] {
                let reply = try await world.call(
                    "POST",
                    "/auth/login",
                    """
                    {"username":"\(user)","password":"\(password)",\
                    "installation_id":"p","device_name":"n"}
                    """
                )
                #expect(reply.status == 401)
                #expect(reply.code == "invalid_credentials")
                #expect(reply.headers["www-authenticate"] == "Bearer")
            }
            #expect(try await world.call("GET", "/push/settings").status == 401)
            #expect(
                try await world.call("GET", "/push/settings", token: "unknown").code
                    == "unauthorized"
            )
        }
    }

    @Test func refreshesOnce() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let binding = try #require(try await phone.recipient()).binding
            let renewed = try await phone.refresh()
            #expect(renewed.status == 200)
            #expect(renewed.string("session_id") == phone.session.string("session_id"))
            #expect(try await phone.refresh().status == 401)
            #expect(try await phone.settings().status == 401)
            let again = Phone(world: world, installation: phone.installation, session: renewed)
            let settings = try await again.settings()
            #expect(settings.flag("registered") == true)
            #expect(try await again.recipient()?.binding == binding)
        }
    }

    @Test func tokensEndAndNeverSlide() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let binding = try #require(try await phone.recipient()).binding
            world.time.advance(by: .seconds(899))
            #expect(try await phone.settings().status == 200)
            world.time.advance(by: .seconds(1))
            #expect(try await phone.settings().status == 401)
            world.time.advance(by: .seconds(2_592_000 - 1000))
            let late = try await phone.refresh()
            #expect(late["expires_in"] == .integer(100))
            guard case .eligible = try await world.check(phone.installation, binding: binding)
            else {
                Issue.record("a live session does not receive")
                return
            }
            world.time.advance(by: .seconds(100))
            let renewed = Phone(world: world, installation: phone.installation, session: late)
            #expect(try await renewed.settings().status == 401)
            #expect(try await renewed.refresh().status == 401)
            let verdict = try await world.check(phone.installation, binding: binding)
            #expect(
                [.ineligible(.sessionEnded), .ineligible(.notRegistered)].contains(verdict)
            )
        }
    }

    @Test func pairsOnceWithinFiveMinutes() async throws {
        try await RegistrationWorld.run { world in
            try await world.addUser("alice")
            let made = try await world.bus.ask(
                PairingCreate(username: "alice"),
                timeout: .seconds(10)
            )
            #expect(made.serverURL.hasPrefix("http://127.0.0.1:"))
            #expect(made.code.text.utf8.count >= 22)
            let body = """
                {"code":"\(made.code.text)","installation_id":"p","device_name":"n"}
                """
            #expect(try await world.call("POST", "/auth/pair", body).status == 200)
            #expect(try await world.call("POST", "/auth/pair", body).code == "invalid_credentials")
            let late = try await world.bus.ask(
                PairingCreate(username: "alice"),
                timeout: .seconds(10)
            )
            world.time.advance(by: .seconds(300))
            let expired = """
                {"code":"\(late.code.text)","installation_id":"p","device_name":"n"}
                """
            #expect(try await world.call("POST", "/auth/pair", expired).status == 401)
            await #expect(throws: (any Error).self) {
                try await world.bus.ask(
                    PairingCreate(username: "nobody"),
                    timeout: .seconds(10)
                )
            }
        }
    }

    @Test func logoutEndsEverythingAtItsCommit() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let binding = try #require(try await phone.recipient()).binding
            #expect(try await phone.logout().status == 200)
            #expect(try await phone.settings().status == 401)
            #expect(try await phone.refresh().status == 401)
            guard
                case .ineligible = try await world.check(phone.installation, binding: binding)
            else {
                Issue.record("a signed-out phone still receives")
                return
            }
            #expect(try await phone.recipient() == nil)
        }
    }

    @Test func aNewLoginOfTheAccountReplacesTheOldOne() async throws {
        try await RegistrationWorld.run { world in
            let old = try await world.registeredPhone("alice")
            let before = try #require(try await old.recipient()).binding
            let new = try await world.login("alice", old.installation)
            #expect(try await old.settings().status == 401)
            let settings = try await new.settings()
            #expect(settings.flag("registered") == false)
            #expect(settings.string("delivery_unavailable_reason") == "not_registered")
            #expect(settings["preferences"]?["alerts"] == .bool(true))
            let revision = try #require(settings.revision)
            #expect(try await new.register(revision: revision).status == 200)
            #expect(try #require(try await new.recipient()).binding > before)
        }
    }

    @Test func accountsTakeTurnsOnOnePhone() async throws {
        try await RegistrationWorld.run { world in
            let alice = try await world.registeredPhone("alice")
            try await world.addUser("bob")
            let bob = try await world.login("bob", alice.installation)
            let settings = try await bob.settings()
            #expect(settings.string("delivery_unavailable_reason") == "owned_elsewhere")
            #expect(settings["preferences"]?["alerts"] == .bool(false))
            #expect(try await bob.save(revision: 2, "enabled").code == "owned_elsewhere")
            #expect(try await bob.register(revision: 2).code == "owned_elsewhere")
            #expect(try await alice.recipient() != nil)
            _ = try await alice.logout()
            let revision = try #require(try await bob.settings().revision)
            #expect(try await bob.register(revision: revision).code == "not_enabled")
            #expect(try await bob.save(revision: revision, "enabled", "alerts").status == 200)
            #expect(try await bob.register(revision: revision + 1).status == 200)
            #expect(
                try await bob.recipient()?.userID.text == bob.session.string("user_id")
            )
        }
    }

    @Test func refusesPasswordsBeyondTheQueue() async throws {
        let passwords = try PasswordThread(cost: .test, capacity: 0)
        await #expect(throws: PasswordThread.Full.self) {
            try await passwords.verify(Password("x"), against: nil)
        }
        passwords.stop()
        try await RegistrationWorld.run(passwordQueue: 0) { world in
            let reply = try await world.tryLogin("nobody", password: "correct horse")
            #expect(reply.status == 503)
            #expect(reply.code == "busy")
            #expect(reply.headers["retry-after"] == "2")
        }
    }

    @Test func survivesARestart() async throws {
        let session = Observed<Reply?>(nil)
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            session.update { $0 = phone.session }
        } again: { world in
            let phone = Phone(
                world: world,
                installation: "phone-of-alice",
                session: try #require(session.value)
            )
            #expect(try await phone.settings().flag("registered") == true)
            let recipient = try #require(try await phone.recipient())
            #expect(recipient.contentKey?.bytes == [UInt8](repeating: 7, count: 32))
        }
    }
}
