import Contracts
import Loop
import Testing

@testable import PushBusDevice

/// Leaving a login behind, with and without a network.
@Suite struct SignOutTests {
    private func signedIn(_ name: String = "alice") async throws -> DeviceWorld {
        let world = try DeviceWorld()
        try await world.signIn(name)
        try await world.enroll()
        return world
    }

    private func secrets(_ world: DeviceWorld) -> String {
        String(decoding: world.store.stored(.state) ?? [], as: UTF8.self)
    }

    @Test func settingsChangeOnlyAfterTheProofIsSaved() async throws {
        let world = try DeviceWorld()
        world.server.fail("/auth/proof", .unreachable)
        try await world.signIn()
        #expect(try await world.device.status.hasProof == false)
        world.server.fail("/auth/proof", .answer(503, "busy"))
        #expect(await world.code { try await world.enroll() } == .unavailable)
        #expect(!world.server.requests.contains { $0.method == "PUT" })
        #expect(try await world.device.status.saveTrouble == .unavailable)
        let stored = Log()
        world.server.before { path in
            let text = String(decoding: world.store.stored(.state) ?? [], as: UTF8.self)
            if path == "/push/settings" || path == "/push/encrypted-register" {
                stored.note("\(path) \(text.contains("proof-"))")
            }
        }
        try await world.device.retry()
        #expect(
            stored.lines == [
                "/push/settings true", "/push/settings true", "/push/encrypted-register true",
            ]
        )
        #expect(try await world.device.status.registration == .registered)
    }

    @Test func anOldServersSettingsAreLeftAlone() async throws {
        let world = try DeviceWorld()
        world.server.world.withLock { $0.isOld = true }
        try await world.signIn()
        #expect(await world.code { try await world.enroll() } == .unsupported)
        #expect(try await world.device.status.saveTrouble == .proofMissing)
        #expect(!world.server.requests.contains { $0.method == "PUT" })
    }

    @Test func withANetworkTheServerEndsItAtOnce() async throws {
        let world = try await signedIn()
        #expect(try await world.device.signOut() == .ended)
        #expect(world.server.sessions.isEmpty)
        #expect(try await world.device.state.cleanup.isEmpty)
        #expect(try await world.device.status.account == .signedOut(wasEnded: false))
        #expect(world.store.stored(.keys) == nil)
        #expect(world.store.stored(.recipient) == nil)
        #expect(!secrets(world).contains("access-"))
        #expect(!secrets(world).contains("refresh-"))
    }

    @Test(arguments: [DeviceEvent.Occasion.launch, .foreground, .networkRecovered])
    func withoutANetworkTheProofStaysUntilItIsUsed(
        _ occasion: DeviceEvent.Occasion
    ) async throws {
        let world = try await signedIn()
        world.down()
        #expect(try await world.device.signOut() == .pending)
        #expect(try await world.device.status.account == .signedOut(wasEnded: false))
        #expect(try await world.device.status.waitingCleanups == 1)
        #expect(world.store.stored(.keys) == nil)
        #expect(secrets(world).contains("proof-"))
        #expect(!secrets(world).contains("access-"))
        #expect(!secrets(world).contains("\"refresh-"))
        #expect(world.server.sessions.count == 1)
        let again = try world.restarted()
        try await again.device.reconcile(occasion)
        #expect(try await again.device.status.waitingCleanups == 1)
        world.down(false)
        try await again.device.reconcile(occasion)
        #expect(world.server.sessions.isEmpty)
        #expect(try await again.device.status.waitingCleanups == 0)
    }

    @Test func cleanUpComesBeforeTheNextLoginAndNeverWithItsCredentials() async throws {
        let world = try await signedIn("alice")
        world.down()
        _ = try await world.device.signOut()
        world.down(false)
        world.server.fail("/auth/revoke", .answer(503, "busy"))
        let before = world.server.requests.count
        try await world.signIn("bob")
        let since = world.server.requests.dropFirst(before).map(\.path)
        #expect(since.first == "/auth/revoke")
        #expect(try await world.device.status.waitingCleanups == 1)
        // Bob is signed in while alice's session still waits.
        try await world.device.reconcile(.foreground)
        let revocations = world.server.requests(to: "/auth/revoke")
        #expect(revocations.count == 2)
        #expect(revocations.allSatisfy { $0.bearer == nil })
        #expect(revocations.allSatisfy { $0.body?.object?.count == 2 })
        #expect(world.server.sessions.values.map(\.user) == [UserID("user-bob")])
        #expect(try await world.device.status.waitingCleanups == 0)
    }

    @Test func withoutAProofNothingIsCleared() async throws {
        let world = try DeviceWorld()
        world.server.fail("/auth/proof", .unreachable)
        try await world.signIn()
        world.down()
        #expect(await world.code { _ = try await world.device.signOut() } == .proofMissing)
        #expect(await world.code { try await world.signIn("bob") } == .alreadySignedIn)
        #expect(secrets(world).contains("access-"))
        #expect(world.store.stored(.keys) != nil)
        world.down(false)
        #expect(try await world.device.signOut() == .ended)
    }

    @Test func storageThatDoesNotTakeItBlocksClearingAndTheNextLogin() async throws {
        let world = try await signedIn()
        let before = world.store.stored(.state)
        world.store.plan(.failure, atWrite: world.store.writes + 1)
        #expect(await world.code { _ = try await world.device.signOut() } == .storage)
        #expect(world.store.stored(.state) == before)
        #expect(world.store.stored(.keys) != nil)
        #expect(await world.code { try await world.signIn("bob") } == .alreadySignedIn)
        world.store.breakDown(.state)
        #expect(await world.code { try await world.signIn("bob") } == .storage)
        #expect(throws: DeviceError.self) { try world.restarted() }
        world.store.mend()
        #expect(try await world.device.signOut() == .ended)
    }

    @Test func aFullListBlocksClearingAndTheNextLogin() async throws {
        let world = try DeviceWorld()
        for _ in 0..<DeviceState.cleanupLimit {
            world.server.fail("/auth/revoke", .unreachable)
            try await world.signIn()
            world.down()
            #expect(try await world.device.signOut() == .pending)
            world.down(false)
            // What waits is tried before each login, and keeps failing.
            for _ in 0...DeviceState.cleanupLimit {
                world.server.fail("/auth/revoke", .answer(503, "busy"))
            }
        }
        #expect(try await world.device.status.waitingCleanups == DeviceState.cleanupLimit)
        #expect(await world.code { try await world.signIn() } == .cleanupFull)
        world.server.world.withLock { $0.faults = [:] }
        try await world.signIn()
        #expect(try await world.device.status.waitingCleanups == 0)
    }

    @Test(arguments: [
        FakeServer.Fault.unreachable, .lostReply, .answer(503, "busy"), .answer(404, "not_found"),
        .answer(429, "too_many_attempts"), .raw(200, "<html>Sign in to the hotel</html>"),
        .raw(401, "<html>no</html>"), .raw(302, ""),
    ]) func onlyTheServersClearWordEndsAClean(_ fault: FakeServer.Fault) async throws {
        let world = try await signedIn()
        world.server.fail("/auth/revoke", fault)
        #expect(try await world.device.signOut() == .pending)
        #expect(try await world.device.status.waitingCleanups == 1)
        #expect(try await world.device.state.cleanup.first?.isRefused == false)
        try await world.device.reconcile(.foreground)
        #expect(try await world.device.status.waitingCleanups == 0)
        #expect(world.server.sessions.isEmpty)
    }

    @Test func aServerThatIsNotReachedIsAskedOnceAtATime() async throws {
        let world = try DeviceWorld()
        for _ in 0..<3 {
            try await world.signIn()
            world.down()
            _ = try await world.device.signOut()
            world.down(false)
            for _ in 0..<3 { world.server.fail("/auth/revoke", .unreachable) }
        }
        world.server.world.withLock { $0.faults = [:] }
        #expect(try await world.device.status.waitingCleanups == 3)
        let before = world.server.requests(to: "/auth/revoke").count
        world.server.fail("/auth/revoke", .unreachable)
        try await world.device.reconcile(.foreground)
        #expect(world.server.requests(to: "/auth/revoke").count == before + 1)
        try await world.device.reconcile(.foreground)
        #expect(try await world.device.status.waitingCleanups == 0)
    }

    @Test func aSessionThatIsGoneIsASuccess() async throws {
        let world = try await signedIn()
        world.down()
        _ = try await world.device.signOut()
        world.down(false)
        // The account signs in on this phone again: the server ends the older session itself.
        try await world.signIn()
        try await world.device.reconcile(.foreground)
        #expect(try await world.device.status.waitingCleanups == 0)
        #expect(world.server.sessions.count == 1)
        #expect(try await world.device.settings().revision >= 0)
    }

    @Test func aReplyThatComesAfterTheSignOutIsDiscarded() async throws {
        for path in ["/push/settings", "/push/encrypted-register"] {
            let world = try DeviceWorld()
            try await world.signIn()
            try await world.device.disclosureShown()
            let device = world.device
            let seen = Log()
            world.server.before { now in
                guard now == path, seen.lines.isEmpty else { return }
                seen.note(now)
                // The sign-out is stored at once; its own requests wait their turn.
                _ = try? await device.take(.signOut)
            }
            _ = await world.code {
                try await device.choose(PreferenceChanges(enabled: true, alerts: true))
            }
            #expect(seen.lines == [path])
            #expect(try await device.state.login == nil)
            #expect(try await device.status.account == .signedOut(wasEnded: false))
            #expect(try await device.status.confirmed == nil)
            try await device.reconcile(.foreground)
            #expect(world.store.stored(.keys) == nil)
            // The next login starts from nothing.
            try await world.signIn("bob")
            #expect(try await device.state.login?.enrollment.registration == nil)
            #expect(try await device.status.unconfirmed == nil)
        }
    }

    @Test func eachLoginHasAKeyOfItsOwn() async throws {
        let world = try await signedIn("alice")
        let first: ContentKeyring? = try world.store.value(.keys)
        _ = try await world.device.signOut()
        let none: ContentKeyring? = try world.store.value(.keys)
        #expect(none == nil)
        try await world.signIn("bob")
        let second: ContentKeyring? = try world.store.value(.keys)
        #expect(second?.current.id != first?.current.id)
        #expect(second?.current.key != first?.current.key)
        #expect(second?.previous == nil)
        let recipient: Recipient? = try world.store.value(.recipient)
        #expect(recipient?.userID == UserID("user-bob"))
    }

    @Test func everythingIsForThisDeviceOnly() {
        for item in DeviceItem.allCases { #expect(item.protection.isThisDeviceOnly) }
        let secret = DeviceItem.allCases.filter(\.protection.isSecret)
        #expect(secret == [.state, .keys])
        let shared = DeviceItem.allCases.filter(\.protection.isShared)
        #expect(shared == [.recipient, .keys, .shown])
    }
}
