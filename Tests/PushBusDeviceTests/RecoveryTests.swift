import Contracts
import Loop
import PushBusDevice
import Testing

/// A login that the server refuses for good while there is no proof of it.
@Suite struct RecoveryTests {
    /// A phone in the Recover session state; `session` is the lost one.
    private func lost() async throws -> (world: DeviceWorld, session: SessionID) {
        let world = try DeviceWorld()
        world.server.fail("/auth/proof", .unreachable)
        try await world.signIn()
        let session = try #require(try await world.device.state.login).session.sessionID
        try await world.steal()
        #expect(await world.code { _ = try await world.device.settings() } == .unauthorized)
        return (world, session)
    }

    private func recover(
        _ world: DeviceWorld,
        _ name: String = "alice"
    ) async throws -> PushDevice.Recovery? {
        try await world.device.openRecovery(.pairing(code: Password("code-\(name)")))
    }

    @Test func refusedWithAProofIsSignedOutAndCleanedUp() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        try await world.enroll()
        try await world.steal()
        #expect(await world.code { _ = try await world.device.settings() } == .unauthorized)
        #expect(try await world.device.status.account == .signedOut(wasEnded: true))
        #expect(try await world.device.status.waitingCleanups == 0)
        #expect(world.server.sessions.isEmpty)
        #expect(world.store.stored(.keys) == nil)
    }

    @Test func refusedWithoutAProofStopsEverythingOrdinaryAlsoAfterARestart() async throws {
        let (world, session) = try await lost()
        for one in [world, try world.restarted()] {
            guard
                case .lost(UserID("user-alice"), FakeServer.address) =
                    try await one.device.status.account
            else {
                Issue.record("\(try await one.device.status.account)")
                return
            }
            let before = one.server.requests.count
            let device = one.device
            let event = try #require(EventID("11111111-1111-4111-8111-111111111111"))
            let codes = [
                await one.code { _ = try await device.settings() },
                await one.code { _ = try await device.devices() },
                await one.code { try await device.disclosureShown() },
                await one.code { try await device.choose(PreferenceChanges(enabled: true)) },
                await one.code { try await device.retry() },
                await one.code { _ = try await device.signOut() },
                await one.code { _ = try await device.requestTest(event, expectedRevision: 1) },
                await one.code { try await one.signIn() },
                await one.code { try await one.signIn("bob") },
            ]
            #expect(codes == Array(repeating: .recoverSession, count: codes.count))
            try await device.reconcile(.launch)
            try await device.reconcile(.networkRecovered)
            #expect(one.server.requests.count == before)
            #expect(try await device.status.actions == [.recoverSession])
            #expect(try await device.state.recoverable?.sessionID == session)
            // Nothing was cleared either.
            #expect(try await device.state.lost?.session.tokens.refresh.isEmpty == false)
            #expect(one.store.stored(.keys) != nil)
        }
    }

    @Test(arguments: [
        FakeServer.Fault.unreachable, .answer(503, "busy"), .answer(429, "too_many_attempts"),
        .answer(404, "not_found"), .raw(401, "<html>Sign in to the hotel</html>"), .lostReply,
    ]) func onlyTheServersClearWordLosesALogin(_ fault: FakeServer.Fault) async throws {
        let world = try DeviceWorld()
        world.server.fail("/auth/proof", .unreachable)
        try await world.signIn()
        world.pass(900)
        world.server.fail("/auth/refresh", fault)
        _ = await world.code { _ = try await world.device.settings() }
        #expect(try await world.device.state.lost == nil)
        #expect(try await world.device.state.login != nil)
    }

    @Test func nothingIsChosenAndNobodyIsSignedIn() async throws {
        let (world, session) = try await lost()
        let recovery = try #require(try await recover(world))
        #expect(recovery.sessions.map(\.sessionID) == [session])
        #expect(world.server.sessions.count == 1)
        #expect(try await world.device.state.lost != nil)
        try await world.device.end(session, in: recovery)
        #expect(world.server.sessions.isEmpty)
        #expect(try await world.device.status.account == .signedOut(wasEnded: true))
        #expect(try await world.device.state.selected == nil)
        #expect(world.store.stored(.keys) == nil)
        try await world.signIn()
        #expect(try await world.device.status.hasProof)
    }

    @Test func theChoiceIsSavedBeforeTheCleanUp() async throws {
        let (world, session) = try await lost()
        let recovery = try #require(try await recover(world))
        let seen = Log()
        world.server.before { path in
            guard path.hasPrefix("/auth/recovery/sessions/") else { return }
            let text = String(decoding: world.store.stored(.state) ?? [], as: UTF8.self)
            seen.note("\(text.contains("\"selected\":\"\(session.text)\""))")
        }
        world.server.fail("/auth/recovery/sessions/\(session)", .unreachable)
        #expect(await world.code { try await world.device.end(session, in: recovery) } != nil)
        #expect(seen.lines == ["true"])
        #expect(try await world.restarted().device.state.selected == session)
        // Storage that does not take the choice ends nothing.
        let other = try await lost()
        let second = try #require(try await recover(other.world))
        other.world.store.plan(.failure, atWrite: other.world.store.writes + 1)
        #expect(
            await other.world.code { try await other.world.device.end(other.session, in: second) }
                == .storage
        )
        #expect(other.world.server.sessions.count == 1)
    }

    @Test(arguments: [
        FakeServer.Fault.lostReply, .unreachable, .answer(503, "busy"), .answer(404, "not_found"),
        .answer(401, "unauthorized"), .raw(200, "<html></html>"), .raw(200, "{}"),
    ]) func whatIsNotClearKeepsTheRecord(_ fault: FakeServer.Fault) async throws {
        let (world, session) = try await lost()
        let recovery = try #require(try await recover(world))
        world.server.fail("/auth/recovery/sessions/\(session)", fault)
        #expect(await world.code { try await world.device.end(session, in: recovery) } != nil)
        let again = try world.restarted()
        #expect(try await again.device.state.lost?.session.sessionID == session)
        #expect(await again.code { try await again.signIn() } == .recoverSession)
        // Shown again, the account's own list tells whether the session is over.
        if let next = try await recover(again) { try await again.device.end(session, in: next) }
        #expect(try await again.device.state.lost == nil)
        #expect(again.server.sessions.isEmpty)
    }

    @Test func anUnavailableOrOldServerKeepsTheRecord() async throws {
        let (world, session) = try await lost()
        world.down()
        #expect(await world.code { _ = try await recover(world) } == .unreachable)
        world.down(false)
        world.server.world.withLock { $0.isOld = true }
        #expect(await world.code { _ = try await recover(world) } == .unsupported)
        #expect(await world.code { try await world.device.endLostSession() } == .unsupported)
        #expect(try await world.device.state.lost?.session.sessionID == session)
    }

    @Test func anotherAccountRecoversNothing() async throws {
        let (world, session) = try await lost()
        #expect(await world.code { _ = try await recover(world, "bob") } == .otherAccount)
        #expect(world.server.requests(to: "/auth/recovery/sessions").isEmpty)
        #expect(try await world.device.state.lost?.session.sessionID == session)
    }

    @Test func onlyWhatIsListedCanBeEnded() async throws {
        let (world, _) = try await lost()
        let recovery = try #require(try await recover(world))
        let code = await world.code {
            try await world.device.end(SessionID("another"), in: recovery)
        }
        #expect(code == .refused)
        #expect(world.server.sessions.count == 1)
    }

    @Test func endingAnotherSessionKeepsTheRecord() async throws {
        let (world, session) = try await lost()
        world.server.world.withLock { world in
            world.sessions["older"] = FakeServer.SessionRow(
                user: UserID("user-alice"),
                installation: "phone-1",
                access: "a",
                refresh: "r"
            )
        }
        let recovery = try #require(try await recover(world))
        #expect(recovery.sessions.count == 2)
        try await world.device.end(SessionID("older"), in: recovery)
        #expect(try await world.device.state.lost?.session.sessionID == session)
        #expect(Array(world.server.sessions.keys) == [session.text])
    }

    @Test func theHashOfTheLastTokenEndsItWhenSomebodyAsks() async throws {
        let (world, _) = try await lost()
        world.server.fail("/auth/revoke", .lostReply)
        #expect(await world.code { try await world.device.endLostSession() } == .unreachable)
        #expect(try await world.device.state.lost != nil)
        try await world.device.endLostSession()
        #expect(try await world.device.state.lost == nil)
        #expect(world.server.requests(to: "/auth/revoke").allSatisfy { $0.bearer == nil })
    }

    @Test func aProofThatTheServerRefusesLeadsToRecovery() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        let session = try #require(try await world.device.state.login).session.sessionID
        world.server.world.withLock { world in
            world.sessions[session.text]?.proofs = []
            world.sessions[session.text]?.refresh = "elsewhere"
        }
        #expect(try await world.device.signOut() == .pending)
        #expect(try await world.device.state.cleanup.first?.isRefused == true)
        let before = world.server.requests.count
        try await world.device.reconcile(.foreground)
        #expect(world.server.requests.count == before)
        // Another account may sign in; the record waits for its own.
        try await world.signIn("bob")
        #expect(try await world.device.status.actions.contains(.recoverSession))
        #expect(await world.code { _ = try await recover(world, "bob") } == .otherAccount)
        let recovery = try #require(try await recover(world))
        try await world.device.end(session, in: recovery)
        #expect(try await world.device.status.waitingCleanups == 0)
        #expect(world.server.sessions.values.map(\.user) == [UserID("user-bob")])
        #expect(try await world.device.settings().revision == 0)
    }
}
