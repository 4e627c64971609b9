import Contracts
import RegistrationCore
import TestKit
import Testing

/// The acceptance matrix over real HTTP and a real file: sessions and roles, a row a test.
///
/// `check` asks what Delivery asks before it sends a queued message of a binding and a watermark.
@Suite("acceptance matrix: who may still receive", .timeLimit(.minutes(2)))
struct AcceptanceMatrixTests {
    @Test("registration before and after refresh")
    func refreshKeepsTheRegistration() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let queued = try await phone.queued()
            #expect(try await queued.verdict() == nil)
            let renewed = try await phone.refreshed()
            #expect(try await queued.verdict() == nil)
            #expect(try await phone.settings().status == 401)
            let settings = try await renewed.settings()
            #expect(settings.flag("registered") == true)
            #expect(settings.revision == 2)
            #expect(try await renewed.register(revision: 2).revision == 3)
            #expect(try await queued.verdict() == nil)
            #expect(try await phone.queued().binding == queued.binding)
        }
    }

    @Test("a real change of the registration fences what is queued, an identical one keeps it")
    func onlyARealChangeFences() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            var revision: Int64 = 2
            func register(
                token: String = "aa11",
                environment: String = "sandbox",
                key: String = Phone.key(),
                keyID: String = Phone.keyID
            ) async throws {
                let reply = try await phone.register(
                    revision: revision,
                    token: token,
                    environment: environment,
                    key: key,
                    keyID: keyID
                )
                #expect(reply.status == 200)
                revision += 1
            }
            var queued = try await phone.queued()
            try await register()
            #expect(try await queued.verdict() == nil)
            let other = "33333333-3333-4333-8333-333333333333"
            try await register(token: "bb22")
            #expect(try await queued.verdict() == .replaced)
            queued = try await phone.queued()
            try await register(token: "bb22", environment: "production")
            #expect(try await queued.verdict() == .replaced)
            queued = try await phone.queued()
            try await register(token: "bb22", environment: "production", key: Phone.key(9))
            #expect(try await queued.verdict() == .replaced)
            queued = try await phone.queued()
            try await register(
                token: "bb22",
                environment: "production",
                key: Phone.key(9),
                keyID: other
            )
            #expect(try await queued.verdict() == .replaced)
        }
    }

    @Test("logout")
    func logoutStopsQueuedSends() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let queued = try await phone.queued()
            #expect(try await phone.logout().status == 200)
            #expect(try await queued.verdict() == .notRegistered)
            #expect(try await phone.recipient() == nil)
            #expect(try await phone.settings().status == 401)
            #expect(try await phone.refresh().status == 401)
        }
    }

    @Test("device revocation")
    func aRevokedDeviceStops() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let tablet = try await world.login("alice", "tablet")
            let queued = try await phone.queued()
            #expect(try await tablet.end(phone.session.string("session_id")).status == 200)
            #expect(try await queued.verdict() == .notRegistered)
            #expect(try await phone.settings().status == 401)
            #expect(try await tablet.settings().status == 200)
        }
    }

    @Test("revocation by a proof, after the credentials have expired")
    func aProofStopsQueuedSends() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let queued = try await phone.queued()
            let id = phone.session.string("session_id")
            let proof = try await phone.proof(of: id).string("proof")
            world.time.advance(by: .seconds(900))
            #expect(try await phone.settings().status == 401)
            #expect(try await world.revoke(id, proof: proof).status == 200)
            #expect(try await queued.verdict() == .notRegistered)
        }
    }

    @Test("password revocation")
    func anotherPasswordStops() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let queued = try await phone.queued()
            let change = UserPasswordChange(username: "alice", password: Password("another horse"))
            #expect(try await world.ask(change).sessionsEnded == 1)
            #expect(try await queued.verdict() == .notRegistered)
            #expect(try await phone.refresh().status == 401)
        }
    }

    @Test("user revocation")
    func aDeletedUserStops() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let queued = try await phone.queued()
            _ = try await world.ask(UserDelete(username: "alice"))
            #expect(try await queued.verdict() == .notRegistered)
            #expect(try await phone.settings().status == 401)
            #expect(try await world.audience().recipients.isEmpty)
        }
    }

    @Test("session expiry")
    func anExpiredSessionStopsAtItsEnd() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let queued = try await phone.queued()
            world.time.advance(by: .seconds(2_592_000 - 1))
            #expect(try await queued.verdict() == nil)
            let renewed = try await phone.refreshed()
            world.time.advance(by: .seconds(1))
            let reason = try await queued.verdict()
            // Housekeeping may or may not have come by in the same moment.
            #expect([.sessionEnded, .notRegistered].contains(reason))
            #expect(try await renewed.settings().status == 401)
            #expect(try await renewed.refresh().status == 401)
        }
    }

    @Test("role change")
    func aRoleChangeStopsWhatTheNewRoleMayNotHave() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice", role: .admin)
            _ = try await phone.save(revision: 2, "enabled", "alerts", "security", "task_failure")
            let queued = try await phone.queued()
            _ = try await world.ask(UserRoleChange(username: "alice", role: .member))
            #expect(try await queued.verdict(.security) == .role)
            #expect(try await queued.verdict(.taskFailure) == .role)
            #expect(try await queued.verdict(.alert) == nil)
            let settings = try await phone.settings()
            #expect(settings.flag("security_allowed") == false)
            #expect(settings.flag("tasks_allowed") == false)
            let revision = try #require(settings.revision)
            // Switching off is never refused and clears what the role lost.
            let off = try await phone.save(revision: revision, "alerts", "security", "task_failure")
            #expect(off.status == 200)
            #expect(off["preferences"]?["alerts"] == .bool(true))
            #expect(off["preferences"]?["security"] == .bool(false))
            #expect(off["preferences"]?["task_failure"] == .bool(false))
            // A role that comes back inherits nothing from before.
            _ = try await world.ask(UserRoleChange(username: "alice", role: .admin))
            let back = try #require(try await phone.settings().revision)
            _ = try await phone.save(revision: back, "enabled", "alerts", "security")
            _ = try await phone.register(revision: back + 1)
            #expect(try await phone.queued().verdict(.security) == nil)
            #expect(try await queued.verdict(.security) == .replaced)
        }
    }

    @Test("member against admin categories")
    func aMemberNeverGetsAdminCategories() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("bob")
            for name in ["security", "task_failure", "task_success"] {
                let refused = try await phone.save(revision: 2, "enabled", "alerts", name)
                #expect(refused.status == 403)
                #expect(refused.code == "forbidden_category")
            }
            let queued = try await phone.queued()
            for category in [Category.security, .taskFailure, .taskSuccess] {
                #expect(try await queued.verdict(category) == .role)
                let page = try await world.audience(category)
                #expect(page.recipients.isEmpty)
                #expect(page.skipped == ["role": 1])
            }
            #expect(try await phone.settings().revision == 2)
        }
    }

    @Test("several devices")
    func devicesOfOneAccountAreIndependent() async throws {
        try await RegistrationWorld.run { world in
            try await world.addUser("alice")
            var phones: [Phone] = []
            for index in 0..<3 {
                let phone = try await world.login("alice", "phone-\(index)")
                _ = try await phone.save(revision: 0, "enabled", "alerts")
                _ = try await phone.register(revision: 1, token: "aa0\(index)")
                phones.append(phone)
            }
            #expect(try await world.audience().recipients.count == 3)
            let queued = try await phones[2].queued()
            _ = try await phones[0].logout()
            _ = try await phones[1].save(revision: 2, "enabled")
            #expect(
                try await world.audience().recipients.map(\.installationID.text) == ["phone-2"]
            )
            #expect(try await queued.verdict() == nil)
            #expect(try await phones[2].settings().revision == 2)
        }
    }
}

/// A message that waits in an outbox, made for a phone as it was then.
struct Queued: Sendable {
    let world: RegistrationWorld
    let installation: String
    let binding: Int64
    let watermark: Int64

    /// Why it may not be sent now; nil when it may.
    func verdict(_ category: Contracts.Category = .alert) async throws -> IneligibleReason? {
        let verdict = try await world.check(
            installation,
            binding: binding,
            watermark: watermark,
            category: category
        )
        return if case .ineligible(let reason) = verdict { reason } else { nil }
    }
}

extension Phone {
    /// A message that is queued for it now.
    func queued() async throws -> Queued {
        let recipient = try await world.audience(.test).recipients.first {
            $0.installationID.text == installation
        }
        return Queued(
            world: world,
            installation: installation,
            binding: try #require(recipient).binding,
            watermark: try await world.watermark()
        )
    }
}
