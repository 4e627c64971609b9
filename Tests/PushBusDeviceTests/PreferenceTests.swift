import Contracts
import Loop
import Testing

@testable import PushBusDevice

/// What becomes of choices that the server does not take.
@Suite struct PreferenceTests {
    private func enrolled() async throws -> DeviceWorld {
        let world = try DeviceWorld()
        try await world.signIn()
        try await world.enroll()
        return world
    }

    @Test func aFailedSaveKeepsChoicesAndErrorUntilOneSucceeds() async throws {
        let world = try await enrolled()
        world.down()
        let change = PreferenceChanges(alerts: false)
        #expect(await world.code { try await world.device.choose(change) } == .unreachable)
        // Also after a restart.
        let again = try world.restarted()
        for status in [try await world.device.status, try await again.device.status] {
            #expect(status.unconfirmed == change)
            #expect(status.saveTrouble == .unreachable)
            #expect(status.actions == [.retry])
            #expect(status.confirmed?.preferences.alerts == true)
        }
        world.down(false)
        try await again.device.retry()
        let status = try await again.device.status
        #expect(status.unconfirmed == nil)
        #expect(status.saveTrouble == nil)
        #expect(status.confirmed?.preferences.alerts == false)
    }

    @Test func aRefusedSaveWaitsForAPerson() async throws {
        let world = try await enrolled()
        let change = PreferenceChanges(security: true)
        #expect(await world.code { try await world.device.choose(change) } == .forbidden)
        try await world.device.reconcile(.foreground)
        try await world.device.reconcile(.networkRecovered)
        let status = try await world.device.status
        #expect(status.unconfirmed == change)
        #expect(status.saveTrouble == .forbidden)
        let saves = world.server.requests.filter { $0.method == "PUT" }
        #expect(saves.count == 2)
    }

    @Test func registeringAloneConfirmsNothing() async throws {
        let world = try await enrolled()
        world.server.fail("/push/settings", .answer(503, "busy"))
        let change = PreferenceChanges(alerts: false)
        #expect(await world.code { try await world.device.choose(change) } == .unavailable)
        let saves = world.server.requests.filter { $0.method == "PUT" }.count
        // Somebody else makes the same choice, and the reply to a registration is the first to hold it.
        world.server.world.withLock { $0.phones["phone-1"]?.preferences.alerts = false }
        try await world.device.rotateKey()
        #expect(world.server.requests.last?.path == "/push/encrypted-register")
        var status = try await world.device.status
        #expect(status.registration == .registered)
        #expect(status.confirmed?.preferences.alerts == false)
        #expect(status.unconfirmed == change)
        #expect(status.saveTrouble == .unavailable)
        // A newer revision that is read confirms it.
        _ = try await world.device.settings()
        status = try await world.device.status
        #expect(status.unconfirmed == nil)
        #expect(status.saveTrouble == nil)
        #expect(world.server.requests.filter { $0.method == "PUT" }.count == saves)
    }

    @Test func aSaveWhoseReplyWasLostIsConfirmedByTheNextReading() async throws {
        let world = try await enrolled()
        world.server.fail("/push/settings", .lostReply)
        let change = PreferenceChanges(alerts: false)
        #expect(await world.code { try await world.device.choose(change) } == .unreachable)
        let saves = world.server.requests.filter { $0.method == "PUT" }.count
        try await world.device.reconcile(.networkRecovered)
        #expect(try await world.device.status.unconfirmed == nil)
        #expect(try await world.device.status.saveTrouble == nil)
        #expect(world.server.requests.filter { $0.method == "PUT" }.count == saves)
    }

    @Test func aRevisionThatHoldsSomethingElseConfirmsNothing() async throws {
        let world = try await enrolled()
        world.server.fail("/push/settings", .answer(403, "forbidden_category"))
        let change = PreferenceChanges(alerts: false)
        #expect(await world.code { try await world.device.choose(change) } == .forbidden)
        world.server.world.withLock { $0.phones["phone-1"]?.revision += 5 }
        _ = try await world.device.settings()
        #expect(try await world.device.status.unconfirmed == change)
        #expect(try await world.device.status.saveTrouble == .forbidden)
    }

    @Test func whatOthersChangedMeanwhileIsKept() async throws {
        let world = try await enrolled()
        world.server.world.withLock {
            $0.accounts["alice"]?.role = .admin
            $0.phones["phone-1"]?.revision += 1
            $0.phones["phone-1"]?.preferences.security = true
        }
        try await world.device.choose(PreferenceChanges(alerts: false))
        let preferences = world.server.world.withLock { $0.phones["phone-1"]?.preferences }
        #expect(preferences == PushPreferences(enabled: true, security: true))
    }

    @Test func whoIsAlwaysSlowerIsAskedInTheEnd() async throws {
        let world = try await enrolled()
        world.server.before { path in
            guard path == "/push/settings" else { return }
            world.server.world.withLock { $0.phones["phone-1"]?.revision += 1 }
        }
        let code = await world.code {
            try await world.device.choose(PreferenceChanges(alerts: false))
        }
        #expect(code == .staleRevision)
        #expect(try await world.device.status.saveTrouble == .staleRevision)
        #expect(world.server.requests.filter { $0.method == "PUT" }.count == 1 + 4)
    }

    @Test func aChoiceMadeDuringASaveIsSavedToo() async throws {
        let world = try await enrolled()
        let device = world.device
        let arrived = Log()
        world.server.before { path in
            guard path == "/push/settings", arrived.lines.isEmpty else { return }
            arrived.note(path)
            // Somebody presses the next switch while the first save is on its way.
            let state = try? await device.take(.choose(PreferenceChanges(taskFailure: true)))
            arrived.note("\(String(describing: state))")
        }
        world.server.world.withLock { $0.accounts["alice"]?.role = .admin }
        try await device.choose(PreferenceChanges(alerts: false))
        let preferences = world.server.world.withLock { $0.phones["phone-1"]?.preferences }
        #expect(preferences == PushPreferences(enabled: true, taskFailure: true))
        #expect(try await device.status.unconfirmed == nil)
    }

    @Test func aChoiceThatWaitedForARegistrationIsSavedOverItsRevision() async throws {
        let world = try await enrolled()
        let device = world.device
        let work = try await device.take(.choose(PreferenceChanges(alerts: false)))
        // The registration of another process takes the revision first.
        world.server.world.withLock { $0.phones["phone-1"]?.revision += 1 }
        let generation = try await device.state.generation
        let settings = try await world.restarted().device.settings()
        #expect(settings.revision == 3)
        #expect(try await device.state.generation == generation)
        #expect(await device.perform(work) == nil)
        #expect(try await device.status.unconfirmed == nil)
        #expect(world.server.world.withLock { $0.phones["phone-1"]?.preferences.alerts } == false)
    }

    @Test func theServersWordCountsNotTheRoleOfTheLogin() async throws {
        let world = try DeviceWorld()
        try await world.signIn("bob")
        #expect(try await world.device.state.login?.session.role == .admin)
        #expect(try await world.device.status.allowed.contains(.security))
        world.server.world.withLock { $0.accounts["bob"]?.role = .member }
        try await world.device.reconcile(.foreground)
        #expect(try await world.device.state.login?.session.role == .admin)
        #expect(try await world.device.status.allowed == [.alert])
    }

    @Test func thePreferencesOfNobodyAreNotChanged() async throws {
        let world = try DeviceWorld()
        let code = await world.code {
            try await world.device.choose(PreferenceChanges(enabled: false))
        }
        #expect(code == .signedOut)
        #expect(world.server.requests.isEmpty)
    }
}
