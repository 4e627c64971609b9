import Contracts
import Loop
import PushBusDevice
import Testing

/// Where taps lead, and where they never do.
@Suite struct TapTests {
    private func target(
        _ content: NotificationContent,
        user: String = "user-alice",
        deployment: String = FakeServer.address,
        installation: String = "phone-1"
    ) throws -> TapTarget {
        let plaintext = EnvelopePlaintext(
            identity: EnvelopeIdentity(
                deploymentID: DeploymentID(deployment),
                userID: UserID(user),
                installationID: InstallationID(installation)
            ),
            eventID: try OpenerFixture.event(1),
            createdAt: OpenerFixture.now,
            expiresAt: OpenerFixture.now.adding(seconds: 1800),
            content: content
        )
        return try #require(TapTarget(of: plaintext))
    }

    private let alert = TapTarget.Destination.alert(
        AlertKey(
            rule: "cpu",
            server: "web-1",
            sourceAddress: "10.0.0.7",
            startedAt: "2033-05-18T03:33:20Z"
        )
    )

    private let security = NotificationContent.security(
        SecurityContent(
            serverID: "web-1",
            securityEventID: "7",
            securityEventType: "port_scan_detected"
        )
    )

    private let run = NotificationContent.taskFailure(
        TaskRunContent(
            taskID: "backup",
            runID: "9",
            total: 1,
            failed: 1,
            timedOut: 0,
            offline: 0,
            denied: 0
        )
    )

    private func signedIn(_ name: String = "alice") async throws -> DeviceWorld {
        let world = try DeviceWorld()
        try await world.signIn(name)
        return world
    }

    private func looked(_ world: DeviceWorld) -> [TapTarget.Destination] {
        world.system.state.withLock { $0.looked }
    }

    @Test func anAlertOpensExactlyItsCycle() async throws {
        let world = try await signedIn()
        let target = try target(OpenerFixture.alert())
        #expect(try await world.device.tap(target) == .open(alert))
        #expect(looked(world) == [alert])
        #expect(try await world.device.followTap() == nil)
    }

    @Test func aNewerCycleIsNotTheAlert() async throws {
        let world = try await signedIn()
        let newer = AlertKey(
            rule: "cpu",
            server: "web-1",
            sourceAddress: "10.0.0.7",
            startedAt: "2033-05-19T00:00:00Z"
        )
        for answer in [TargetAnswer.available(.alert(newer)), .gone] {
            world.system.state.withLock { $0.target = answer }
            let outcome = try await world.device.tap(target(OpenerFixture.alert()))
            #expect(outcome == .fallback(.alertNotFound))
        }
        #expect(TextTable(.english)[TapRouting.Fallback.alertNotFound.text] == "Alert not found")
    }

    @Test func securityAsksWhoIsAdministratorNow() async throws {
        let world = try await signedIn("bob")
        let target = try target(security, user: "user-bob")
        let destination = TapTarget.Destination.security(serverID: "web-1", eventID: "7")
        #expect(try await world.device.tap(target) == .open(destination))
        world.server.world.withLock { $0.accounts["bob"]?.role = .member }
        let before = looked(world)
        #expect(try await world.device.tap(target) == .fallback(.forbidden))
        #expect(looked(world) == before)
        world.down()
        #expect(try await world.device.tap(target) == .fallback(.unreachable))
        #expect(looked(world) == before)
    }

    @Test func aTaskOpensTheResultsOfItsRun() async throws {
        let world = try await signedIn()
        let destination = TapTarget.Destination.taskRun(taskID: "backup", runID: "9")
        #expect(try await world.device.tap(target(run)) == .open(destination))
        world.system.state.withLock { $0.target = .gone }
        #expect(try await world.device.tap(target(run)) == .fallback(.gone))
    }

    @Test func aTestOpensTheSettings() async throws {
        let world = try await signedIn()
        world.down()
        #expect(try await world.device.tap(target(.test)) == .open(.settings))
        #expect(looked(world).isEmpty)
    }

    @Test func forbiddenAndGoneCanBeDismissed() async throws {
        let world = try await signedIn()
        world.system.state.withLock { $0.target = .forbidden }
        #expect(try await world.device.tap(target(run)) == .fallback(.forbidden))
        for fallback in TapRouting.Fallback.allCases {
            for language in Language.allCases {
                #expect(!TextTable(language)[fallback.text].isEmpty)
            }
        }
        // What was not reached waits for a Retry, and can be dismissed as well.
        world.system.state.withLock { $0.target = .unreachable }
        #expect(try await world.device.tap(target(run)) == .fallback(.unreachable))
        world.system.state.withLock { $0.target = nil }
        let destination = TapTarget.Destination.taskRun(taskID: "backup", runID: "9")
        #expect(try await world.device.followTap() == .open(destination))
        world.system.state.withLock { $0.target = .unreachable }
        _ = try await world.device.tap(target(run))
        try await world.device.dismissTap()
        #expect(try await world.device.followTap() == nil)
    }

    @Test func tapsWaitUntilTheSignInIsRestored() async throws {
        let world = try await signedIn()
        _ = try await world.device.signOut()
        #expect(try await world.device.tap(target(OpenerFixture.alert())) == .buffered)
        #expect(looked(world).isEmpty)
        let again = try world.restarted()
        #expect(try await again.device.followTap() == .buffered)
        try await again.signIn()
        #expect(try await again.device.followTap() == .open(alert))
        #expect(try await again.device.followTap() == nil)
    }

    @Test func aTapWaitsWhileTheSessionIsLost() async throws {
        let world = try DeviceWorld()
        world.server.fail("/auth/proof", .unreachable)
        try await world.signIn()
        try await world.steal()
        _ = await world.code { _ = try await world.device.settings() }
        #expect(try await world.device.tap(target(OpenerFixture.alert())) == .buffered)
    }

    @Test(arguments: [
        ("user-bob", FakeServer.address, "phone-1"),
        ("user-alice", "https://other.example.test", "phone-1"),
        ("user-alice", FakeServer.address, "phone-2"),
    ]) func aMismatchNeverNavigates(user: String, deployment: String, phone: String) async throws {
        let world = try await signedIn()
        for content in [OpenerFixture.alert(), security, run, .test] {
            let target = try target(
                content,
                user: user,
                deployment: deployment,
                installation: phone
            )
            #expect(try await world.device.tap(target) == .fallback(.otherLogin))
        }
        #expect(looked(world).isEmpty)
    }

    @Test func aBufferedTapForAnotherAccountLeadsNowhere() async throws {
        let world = try await signedIn("alice")
        _ = try await world.device.signOut()
        _ = try await world.device.tap(target(OpenerFixture.alert()))
        try await world.signIn("bob")
        #expect(try await world.device.followTap() == .fallback(.otherLogin))
        #expect(try await world.device.followTap() == nil)
    }

    @Test func whatIsFoundAfterTheSignOutOpensNothing() async throws {
        let world = try await signedIn("bob")
        let device = world.device
        let seen = Log()
        world.server.before { path in
            guard path == "/push/settings", seen.lines.isEmpty else { return }
            seen.note(path)
            _ = try? await device.signOut()
        }
        #expect(try await device.tap(target(security, user: "user-bob")) == .buffered)
    }

    @Test func theNewestTapCountsAndOldOnesAreForgotten() async throws {
        let world = try DeviceWorld()
        _ = try await world.device.tap(target(.test))
        _ = try await world.device.tap(target(OpenerFixture.alert()))
        #expect(try await world.device.state.tap?.target == target(OpenerFixture.alert()))
        world.pass(86_400)
        try await world.device.reconcile(.launch)
        #expect(try await world.device.state.tap == nil)
    }

    @Test func aLateTapFindsTheTargetOfWhatWasShown() async throws {
        let world = try await signedIn()
        var shown = ShownLog()
        let plaintext = EnvelopePlaintext(
            identity: try #require(try await world.device.state.login).session.identity,
            eventID: try OpenerFixture.event(1),
            createdAt: OpenerFixture.now,
            expiresAt: OpenerFixture.now.adding(seconds: 1800),
            content: OpenerFixture.alert()
        )
        shown.record(plaintext, at: OpenerFixture.now)
        try world.store.store(shown, .shown)
        world.pass(7200)
        // Days pass, and others are shown meanwhile.
        var other = plaintext
        other.eventID = try OpenerFixture.event(3)
        shown.record(other, at: OpenerFixture.now.adding(seconds: 29 * 86_400))
        try world.store.store(shown, .shown)
        #expect(try await world.device.tap(plaintext.eventID) == .open(alert))
        #expect(try await world.device.tap(OpenerFixture.event(2)) == .fallback(.unknown))
    }
}
