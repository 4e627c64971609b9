import Contracts
import Loop
import Testing

@testable import PushBusDevice

/// Signing in, tokens, and several processes over one storage.
@Suite struct SessionTests {
    @Test func pairingStoresStateRecipientAndKey() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        let request = try #require(world.server.requests.first)
        #expect(request.method == "POST")
        #expect(request.path == "/auth/pair")
        #expect(request.bearer == nil)
        #expect(request.body?["installation_id"] == .string("phone-1"))
        let login = try #require(try await world.device.state.login)
        #expect(login.session.tokens.accessExpiresAt == UnixSeconds(DeviceWorld.start + 900))
        let keyring: ContentKeyring? = try world.store.value(.keys)
        #expect(keyring?.sessionID == login.session.sessionID)
        #expect(keyring?.current.id == login.enrollment.keyID)
        let recipient: Recipient? = try world.store.value(.recipient)
        #expect(recipient?.deploymentID == DeploymentID(FakeServer.address))
        let again = try world.restarted()
        #expect(try await again.device.state == world.device.state)
    }

    @Test func theInstallationKeepsItsName() async throws {
        let world = try DeviceWorld()
        let environment = world.device.environment
        #expect(throws: DeviceError.self) {
            try PushDevice(installationID: InstallationID("other"), environment: environment)
        }
        #expect(try PushDevice(environment: environment).installationID == DeviceWorld.installation)
        world.store.revive()
        try world.store.remove(.installation)
        let made = try PushDevice(environment: environment).installationID
        #expect(UUIDIdentifier<InstallationTag>(made.text) != nil)
        #expect(try PushDevice(environment: environment).installationID == made)
    }

    @Test func oneLoginAtATime() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        let before = world.server.requests.count
        #expect(await world.code { try await world.signIn() } == .alreadySignedIn)
        #expect(await world.code { try await world.signIn("bob") } == .alreadySignedIn)
        #expect(world.server.requests.count == before)
    }

    @Test func aOneTimeCodeIsAskedForAndSent() async throws {
        let world = try DeviceWorld()
        world.server.world.withLock { $0.accounts["alice"]?.oneTimeCode = "123456" }
        func signIn(_ code: Password?) async throws {
            try await world.device.signIn(
                .password(username: "alice", Password("right"), oneTimeCode: code),
                at: ServerAddress(FakeServer.address),
                deviceName: "phone"
            )
        }
        #expect(await world.code { try await signIn(nil) } == .oneTimeCodeRequired)
        #expect(await world.code { try await signIn(Password("000000")) } == .unauthorized)
        try await signIn(Password("123456"))
        #expect(try await world.device.state.login != nil)
    }

    @Test(arguments: 1...3) func aLoginThatCannotBeStoredIsEndedAtTheServer(write: Int) async throws
    {
        let world = try DeviceWorld()
        let failed = Log()
        world.server.before { path in
            guard path == "/auth/pair", failed.lines.isEmpty else { return }
            failed.note(path)
            // Keys, recipient or state.
            world.store.plan(.failure, atWrite: world.store.writes + write)
        }
        #expect(await world.code { try await world.signIn() } == .storage)
        #expect(world.server.sessions.isEmpty)
        #expect(try await world.device.state.login == nil)
        try await world.signIn()
        #expect(try await world.device.status.hasProof)
    }

    @Test func aLoginThatMayHaveBeenStoredIsLeftAlone() async throws {
        let world = try DeviceWorld()
        let failed = Log()
        world.server.before { path in
            guard path == "/auth/pair", failed.lines.isEmpty else { return }
            failed.note(path)
            world.store.plan(.deathAfter, atWrite: world.store.writes + 3)
        }
        #expect(await world.code { try await world.signIn() } == .storage)
        world.store.revive()
        let again = try world.restarted()
        try await again.device.reconcile(.launch)
        #expect(try await again.device.status.hasProof)
        #expect(world.server.sessions.count == 1)
    }

    @Test func aLoginThatComesLateIsEndedAtTheServer() async throws {
        let world = try DeviceWorld()
        let other = try world.restarted()
        let seen = Log()
        world.server.before { path in
            guard path == "/auth/pair", seen.lines.isEmpty else { return }
            seen.note(path)
            // Another login is complete while this one is on its way.
            try? await other.signIn("bob")
        }
        #expect(await world.code { try await world.signIn("alice") } == .superseded)
        #expect(world.server.sessions.values.map(\.user) == [UserID("user-bob")])
        #expect(try await world.device.state.login?.session.userID == UserID("user-bob"))
    }

    @Test func theAccessTokenIsRefreshedBeforeItEndsAndOnlyOnceForAll() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        let device = world.device
        world.pass(839)
        _ = try await device.settings()
        #expect(world.server.requests(to: "/auth/refresh").isEmpty)
        world.pass(1)
        async let first = device.devices()
        async let second = device.settings()
        _ = try await (first, second)
        #expect(world.server.requests(to: "/auth/refresh").count == 1)
    }

    @Test func aRefusedAccessTokenIsRefreshedOnce() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        world.server.world.withLock { world in
            for id in world.sessions.keys { world.sessions[id]?.access = "purged" }
        }
        #expect(try await world.device.settings().revision == 0)
        #expect(world.server.requests(to: "/auth/refresh").count == 1)
        #expect(try await world.restarted().device.settings().revision == 0)
    }

    @Test func twoProcessesNeverTradeOneRefreshTokenTwice() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        world.pass(900)
        let other = try world.restarted()
        let seen = Log()
        world.server.before { path in
            guard path == "/auth/refresh", seen.lines.isEmpty else { return }
            seen.note(path)
            seen.note(
                "\(String(describing: await other.code { _ = try await other.device.settings() }))"
            )
        }
        _ = try await world.device.settings()
        #expect(seen.lines.last == "Optional(unavailable)")
        #expect(world.server.requests(to: "/auth/refresh").count == 1)
        // What one has renewed, the other takes up.
        _ = try await other.device.settings()
        #expect(world.server.requests(to: "/auth/refresh").count == 1)
    }

    @Test func whatAnotherProcessDidIsTakenUp() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        let other = try world.restarted()
        _ = try await other.device.signOut()
        #expect(await world.code { _ = try await world.device.settings() } == .signedOut)
        #expect(try await world.device.status.account == .signedOut(wasEnded: false))
    }

    @Test func renewedTokensThatCouldNotBeStoredAreKeptAndStoredLater() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        world.pass(900)
        let seen = Log()
        world.server.before { path in
            guard path == "/auth/refresh", seen.lines.isEmpty else { return }
            seen.note(path)
            world.store.plan(.failure, atWrite: world.store.writes + 1)
        }
        #expect(await world.code { _ = try await world.device.settings() } == .storage)
        #expect(try await world.device.settings().revision == 0)
        #expect(world.server.requests(to: "/auth/refresh").count == 1)
        try await world.device.disclosureShown()
        let again = try world.restarted()
        #expect(try await again.device.settings().revision == 0)
        #expect(try await again.device.state.login != nil)
    }

    @Test func anotherSessionInTheAnswerIsNotTaken() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        world.pass(900)
        world.server.fail(
            "/auth/refresh",
            .raw(
                200,
                """
                {"data":{"session_id":"x","user_id":"user-bob","deployment_id":"d","role":"admin",\
                "access_token":"a","refresh_token":"r","expires_in":900}}
                """
            )
        )
        #expect(await world.code { _ = try await world.device.settings() } == .malformedReply)
        #expect(try await world.device.state.login?.session.userID == UserID("user-alice"))
    }

    @Test func devicesAreListedAndEnded() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        world.server.world.withLock { world in
            world.sessions["tablet"] = FakeServer.SessionRow(
                user: UserID("user-alice"),
                installation: "tablet",
                access: "a",
                refresh: "r"
            )
        }
        let ids = try await world.device.devices().map(\.sessionID)
        #expect(ids.count == 2)
        let own = try #require(try await world.device.state.login).session.sessionID
        #expect(await world.code { try await world.device.endDevice(own) } == .refused)
        try await world.device.endDevice(SessionID("tablet"))
        #expect(world.server.sessions["tablet"] == nil)
    }

    @Test func theReplacedKeyStaysForThirtyMinutes() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        try await world.enroll()
        let first: ContentKeyring? = try world.store.value(.keys)
        world.server.fail("/push/encrypted-register", .answer(503, "busy"))
        #expect(await world.code { try await world.device.rotateKey() } == .unavailable)
        let between: ContentKeyring? = try world.store.value(.keys)
        #expect(between?.current == first?.current)
        #expect(between?.staged != nil)
        try await world.device.retry()
        let last: ContentKeyring? = try world.store.value(.keys)
        #expect(last?.current == between?.staged)
        #expect(last?.previous?.entry == first?.current)
        #expect(
            world.server.world.withLock { $0.phones["phone-1"]?.keyID }
                == last?.current.id.description
        )
        world.pass(1799)
        try await world.device.reconcile(.foreground)
        let still: ContentKeyring? = try world.store.value(.keys)
        #expect(still?.previous != nil)
        world.pass(1)
        try await world.device.reconcile(.foreground)
        let gone: ContentKeyring? = try world.store.value(.keys)
        #expect(gone?.previous == nil)
    }

    @Test func aStateThatCannotBeReadIsNoAbsence() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        let good = world.store.stored(.state)
        try world.store.write(Array("damaged".utf8), .state)
        #expect(throws: DeviceError.self) { try world.restarted() }
        #expect(await world.code { try await world.signIn("bob") } == .storage)
        try world.store.write(good, .state)
        #expect(try await world.restarted().device.state.login != nil)
    }

    @Test func secretsDoNotPrint() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        let text = "\(try await world.device.state)"
        for secret in ["access-", "refresh-", "proof-"] { #expect(!text.contains(secret)) }
    }

    @Test func redirectsAreNotFollowedAndNobodyElseIsAsked() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        world.server.fail("/push/settings", .raw(307, ""))
        #expect(await world.code { _ = try await world.device.settings() } == .redirected)
        try await world.enroll()
        _ = try await world.device.signOut()
        #expect(world.server.strangers.isEmpty)
    }

    @Test func theEndOfASessionIsToldThreeDaysBefore() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        world.pass(27 * 86_400 - 1)
        #expect(try await world.device.status.isExpiring == false)
        world.pass(1)
        let status = try await world.device.status
        #expect(status.isExpiring)
        let text = TextTable(.english)
        #expect(text.lines(status).contains(text[.statusSessionExpiring]))
    }
}
