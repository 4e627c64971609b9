import Contracts
import PushBusDevice
import Testing

/// A phone whose storage fails, or that dies, at every single write of its life.
@Suite struct CrashTests {
    /// What somebody wants from the phone, in order; each is repeated until it holds.
    private enum Goal: CaseIterable {
        case aliceSignedIn
        case aliceEnrolled
        case keyRotated
        case aliceSignedOutOffline
        case bobSignedIn
        case bobEnrolled
        case bobSignedOut
    }

    /// One process of the app: does what is still missing of one goal; throws when it dies.
    private func pursue(_ goal: Goal, _ world: DeviceWorld) async throws {
        let device = world.device
        world.down(false)
        try await device.reconcile(.launch)
        let account = try await device.status.account
        switch goal {
        case .aliceSignedIn, .bobSignedIn:
            if case .signedIn = account { return }
            try await world.signIn(goal == .aliceSignedIn ? "alice" : "bob")
        case .aliceEnrolled, .bobEnrolled:
            if try await device.status.registration != .registered { try await world.enroll() }
        case .keyRotated:
            if world.server.requests(to: "/push/encrypted-register").count < 2 {
                try await device.rotateKey()
            }
        case .aliceSignedOutOffline, .bobSignedOut:
            guard case .signedIn = account else { return }
            world.down(goal == .aliceSignedOutOffline)
            _ = try await device.signOut()
        }
        if world.store.isDead { throw MemoryStore.Broken() }
    }

    /// Whoever the server still has is known to the phone: as its login, or with a proof. Only a
    /// login whose answer never reached the storage may be missing.
    private func check(_ world: DeviceWorld, _ stored: inout Set<String>) throws {
        let state: DeviceState? = try world.store.value(.state)
        let known =
            [state?.login, state?.lost].compactMap { $0?.session.sessionID.text }
            + (state?.cleanup.map(\.sessionID.text) ?? [])
        stored.formUnion(known)
        for session in world.server.sessions.keys where stored.contains(session) {
            #expect(known.contains(session), "\(session) was forgotten")
        }
        for login in [state?.login].compactMap(\.self) where login.enrollment.registration != nil {
            #expect(login.proof != nil, "settings changed without a proof")
        }
    }

    private func live(
        _ accident: MemoryStore.Accident,
        atWrite write: Int
    ) async throws -> DeviceWorld {
        var world = try DeviceWorld()
        if write > 0 { world.store.plan(accident, atWrite: write) }
        var stored: Set<String> = []
        for goal in Goal.allCases {
            var isReached = false
            for _ in 0..<4 where !isReached {
                do {
                    try await pursue(goal, world)
                    isReached = true
                } catch {
                    world.store.revive()
                    world = try world.restarted()
                }
                try check(world, &stored)
            }
            #expect(isReached, "\(goal) after \(accident) at write \(write)")
        }
        world.down(false)
        for _ in 0..<2 {
            _ = try? await world.device.reconcile(.launch)
            world.store.revive()
            world = try world.restarted()
            try check(world, &stored)
        }
        return world
    }

    @Test(arguments: MemoryStore.Accident.allCases)
    func everyWrite(_ accident: MemoryStore.Accident) async throws {
        let whole = try await live(accident, atWrite: 0)
        let writes = whole.store.writes
        #expect(writes > 25)
        for write in 1...writes {
            let world = try await live(accident, atWrite: write)
            let end = "after \(accident) at write \(write)"
            #expect(world.server.sessions.isEmpty, "a session stayed \(end)")
            #expect(world.store.stored(.keys) == nil, "a key stayed \(end)")
            #expect(world.store.stored(.recipient) == nil, "a recipient stayed \(end)")
            let state = try await world.device.state
            #expect(state.cleanup.isEmpty && state.login == nil && state.lost == nil, "\(end)")
        }
    }
}
