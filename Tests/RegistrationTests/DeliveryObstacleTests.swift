import Contracts
import Loop
import RegistrationCore
import RegistrationService
import ServiceKit
import TestKit
import Testing

/// Why the settings say that nothing is delivered.
@Suite(.timeLimit(.minutes(2)))
struct DeliveryObstacleTests {
    @Test func namesARelayWithoutCredentials() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let now = world.time.wall.second.seconds
            world.peers.notConfiguredAt.withLock { $0 = now }
            // What was learned a moment ago is good for ten seconds.
            #expect(try await phone.settings().flag("delivery_available") == true)
            world.time.advance(by: .seconds(10))
            let settings = try await phone.settings()
            #expect(settings.flag("delivery_available") == false)
            #expect(settings.flag("test_available") == false)
            #expect(settings.flag("registered") == true)
            #expect(settings.string("delivery_unavailable_reason") == "relay_not_configured")
            let refused = try await phone.register(revision: 2, token: "bb22")
            #expect(refused.status == 400)
            #expect(refused.code == "relay_not_configured")
            // What stands in the way first is named first.
            let disabled = try await phone.save(revision: 2, "alerts")
            #expect(disabled.string("delivery_unavailable_reason") == "not_enabled")
            _ = try await phone.save(revision: 3, "enabled", "alerts")
            world.peers.notConfiguredAt.withLock { $0 = 0 }
            world.time.advance(by: .seconds(10))
            #expect(try await phone.register(revision: 4).flag("delivery_available") == true)
        }
    }

    @Test func believesTheRelaysWordForTenMinutesOnly() async throws {
        try await RegistrationWorld.run { world in
            let now = world.time.wall.second.seconds
            world.peers.notConfiguredAt.withLock { $0 = now }
            try await world.addUser("alice")
            let phone = try await world.login("alice", "p")
            _ = try await phone.save(revision: 0, "enabled", "alerts")
            #expect(try await phone.register(revision: 1).code == "relay_not_configured")
            world.time.advance(by: .seconds(599))
            #expect(try await phone.register(revision: 1).code == "relay_not_configured")
            // Nobody can register, so nothing is sent and Delivery learns nothing new.
            world.time.advance(by: .seconds(10))
            #expect(try await phone.register(revision: 1).status == 200)
        }
    }

    @Test func asksDeliveryOnceForMany() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let before = world.peers.statusQuestions.value
            world.time.advance(by: .seconds(10))
            for _ in 0..<20 { #expect(try await phone.settings().status == 200) }
            #expect(world.peers.statusQuestions.value == before + 1)
        }
    }

    @Test func aSilentDeliveryIsNoReason() async throws {
        struct Silent: RelayReports {
            func notConfiguredAt() async throws -> UnixSeconds? { throw RequestProblem.busy }
        }
        let standing = RelayStanding(reports: Silent(), time: ManualTime())
        #expect(await standing.isConfigured())
        try await RegistrationWorld.run(withDelivery: false) { world in
            let phone = try await world.registeredPhone("alice")
            #expect(try await phone.settings().flag("delivery_available") == true)
        }
    }

    @Test func namesASessionThatIsAboutToEnd() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            world.time.advance(by: .seconds(2_592_000 - 1800))
            var renewed = try await phone.refreshed()
            #expect(try await renewed.settings().flag("delivery_available") == true)
            world.time.advance(by: .seconds(1))
            let settings = try await renewed.settings()
            #expect(settings.flag("delivery_available") == false)
            #expect(settings.string("delivery_unavailable_reason") == "session_expiring")
            // A test is still taken.
            #expect(settings.flag("test_available") == true)
            let revision = try #require(settings.revision)
            renewed = try await world.login("alice", phone.installation)
            #expect(try await renewed.register(revision: revision + 1).status == 200)
            #expect(try await renewed.settings().flag("delivery_available") == true)
        }
    }
}

extension Phone {
    /// The same phone with the tokens of a refresh.
    func refreshed() async throws -> Phone {
        let reply = try await refresh()
        try #require(reply.status == 200)
        return Phone(world: world, installation: installation, session: reply)
    }
}
