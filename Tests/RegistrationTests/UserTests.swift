import Bus
import Contracts
import RegistrationCore
import RegistrationService
import TestKit
import Testing

/// What an operator does with accounts over the bus, and what it does to phones.
@Suite(.timeLimit(.minutes(2)))
struct UserTests {
    @Test func listsAccountsInPages() async throws {
        try await RegistrationWorld.run { world in
            for name in ["carol", "alice", "bob"] { try await world.addUser(name) }
            _ = try await world.login("bob", "p")
            let first = try await world.ask(UserList(limit: 2))
            #expect(first.users.map(\.username) == ["alice", "bob"])
            #expect(first.users.map(\.devices) == [0, 1])
            #expect(first.users.map(\.role) == [.member, .member])
            #expect(first.more)
            let second = try await world.ask(UserList(after: "bob", limit: 2))
            #expect(second.users.map(\.username) == ["carol"])
            #expect(!second.more)
        }
    }

    @Test func aDemotionStopsWhatTheRoleMayNotHave() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice", role: .admin)
            let saved = try await phone.save(revision: 2, "enabled", "alerts", "security")
            #expect(saved.status == 200)
            let binding = try #require(try await phone.recipient()).binding
            let before = try await world.watermark()
            let answer = try await world.ask(UserRoleChange(username: "alice", role: .member))
            #expect(answer.previous == .admin)
            func security(_ watermark: Int64) async throws -> EligibilityCheckAnswer.Verdict {
                try await world.check(
                    phone.installation,
                    binding: binding,
                    watermark: watermark,
                    category: .security
                )
            }
            #expect(try await security(before) == .ineligible(.role))
            guard
                case .eligible = try await world.check(
                    phone.installation,
                    binding: binding,
                    watermark: before
                )
            else {
                Issue.record("alerts have stopped")
                return
            }
            let settings = try await phone.settings()
            #expect(settings.flag("security_allowed") == false)
            let revision = try #require(settings.revision)
            let refused = try await phone.save(revision: revision, "enabled", "security")
            #expect(refused.code == "forbidden_category")
            // Promoted again: nothing from before counts, what comes from now on does.
            _ = try await world.ask(UserRoleChange(username: "alice", role: .admin))
            #expect(try await security(before) == .ineligible(.subscribedLater))
            guard case .eligible = try await security(world.watermark()) else {
                Issue.record("a promoted account does not receive")
                return
            }
        }
    }

    @Test func theNextSaveAfterADemotionClearsTheCategories() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice", role: .admin)
            _ = try await phone.save(revision: 2, "enabled", "alerts", "security")
            _ = try await world.ask(UserRoleChange(username: "alice", role: .member))
            let revision = try #require(try await phone.settings().revision)
            let saved = try await phone.save(revision: revision, "enabled", "alerts")
            #expect(saved["preferences"]?["security"] == .bool(false))
        }
    }

    @Test func anotherPasswordEndsSessionsAndCodes() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let binding = try #require(try await phone.recipient()).binding
            let code = try await world.ask(PairingCreate(username: "alice")).code
            let answer = try await world.ask(
                UserPasswordChange(username: "alice", password: Password("battery staple"))
            )
            #expect(answer.sessionsEnded == 1)
            #expect(answer.userID.text == phone.session.string("user_id"))
            #expect(try await phone.settings().status == 401)
            #expect(try await phone.refresh().status == 401)
            guard case .ineligible = try await world.check(phone.installation, binding: binding)
            else {
                Issue.record("a phone of the old password still receives")
                return
            }
            let body = "{\"code\":\"\(code.text)\",\"installation_id\":\"p\",\"device_name\":\"n\"}"
            #expect(try await world.call("POST", "/auth/pair", body).status == 401)
            #expect(try await world.tryLogin("alice", password: "correct horse").status == 401)
            #expect(try await world.tryLogin("alice", password: "battery staple").status == 200)
        }
    }

    @Test func aDeletedAccountIsGone() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let binding = try #require(try await phone.recipient()).binding
            #expect(try await world.ask(UserDelete(username: "alice")).sessionsEnded == 1)
            #expect(try await phone.settings().status == 401)
            #expect(try await phone.recipient() == nil)
            guard case .ineligible = try await world.check(phone.installation, binding: binding)
            else {
                Issue.record("a phone of a deleted account still receives")
                return
            }
            #expect(try await world.tryLogin("alice", password: "correct horse").status == 401)
            // The name is free for another account, which inherits nothing.
            let added = try await world.addUser("alice")
            #expect(added.added)
            #expect(added.userID.text != phone.session.string("user_id"))
            let next = try await world.login("alice", phone.installation)
            #expect(try await next.settings()["preferences"]?["alerts"] == .bool(false))
        }
    }

    @Test func saysThatAnAccountIsUnknown() async throws {
        try await RegistrationWorld.run { world in
            let unknown = UserDelete(username: "nobody")
            await #expect(throws: (any Error).self) { try await world.ask(unknown) }
            await #expect(throws: (any Error).self) {
                try await world.ask(UserRoleChange(username: "nobody", role: .admin))
            }
            await #expect(throws: (any Error).self) {
                try await world.ask(
                    UserPasswordChange(username: "nobody", password: Password("battery staple"))
                )
            }
        }
    }
}

extension RegistrationWorld {
    @discardableResult
    func ask<Request: BusRequest>(_ request: Request) async throws -> Request.Answer {
        try await bus.ask(request, timeout: .seconds(10))
    }
}
