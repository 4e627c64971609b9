import Contracts
import Loop
import PushBusDevice
import Testing

/// Disclosure, confirmed preferences, permission, token, registration: in this order and never at
/// sign-in.
@Suite struct EnrollmentOrderTests {
    private func paths(_ world: DeviceWorld) -> [String] {
        world.server.requests.map { "\($0.method) \($0.path)" }
    }

    @Test func signingInAsksForNothing() async throws {
        let world = try DeviceWorld()
        // The account has notifications on from an earlier login on this phone.
        world.server.world.withLock {
            $0.phones["phone-1"] = FakeServer.Phone(
                revision: 3,
                preferences: PushPreferences(enabled: true, alerts: true)
            )
        }
        try await world.signIn()
        try await world.device.reconcile(.launch)
        try await world.device.reconcile(.foreground)
        #expect(world.system.state.withLock { $0.asked } == 0)
        #expect(world.system.state.withLock { $0.tokensAsked } == 0)
        #expect(!paths(world).contains("POST /push/encrypted-register"))
        let status = try await world.device.status
        #expect(status.actions == [.showDisclosure])
        #expect(status.registration == .waiting)
    }

    @Test func theOrderIsKept() async throws {
        let world = try DeviceWorld()
        let log = Log()
        world.server.before { path in
            let asked = world.system.state.withLock { ($0.asked, $0.tokensAsked) }
            log.note("\(path) \(asked.0) \(asked.1)")
        }
        try await world.signIn()
        try await world.enroll()
        let status = try await world.device.status
        #expect(status.registration == .registered)
        #expect(status.permission == .granted)
        #expect(
            log.lines == [
                "/auth/pair 0 0", "/auth/proof 0 0", "/push/settings 0 0", "/push/settings 0 0",
                "/push/encrypted-register 1 1",
            ]
        )
        #expect(paths(world)[3] == "PUT /push/settings")
    }

    @Test func withoutTheDisclosureNothingIsSwitchedOn() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        try await world.device.choose(PreferenceChanges(enabled: true, alerts: true))
        #expect(!paths(world).contains("PUT /push/settings"))
        #expect(world.system.state.withLock { $0.asked } == 0)
        #expect(try await world.device.status.actions == [.showDisclosure])
        // The choice is not lost: it is saved as soon as the disclosure was shown.
        try await world.device.disclosureShown()
        #expect(try await world.device.status.registration == .registered)
    }

    @Test func switchingOffNeedsNoDisclosure() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        try await world.device.choose(PreferenceChanges(enabled: false))
        #expect(paths(world).last == "PUT /push/settings")
    }

    @Test func aNewLoginIsToldAgain() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        try await world.enroll()
        _ = try await world.device.signOut()
        try await world.signIn()
        try await world.device.reconcile(.launch)
        #expect(try await world.device.status.registration == .waiting)
        #expect(try await world.device.status.actions == [.showDisclosure])
        #expect(world.system.state.withLock { $0.asked } == 1)
    }

    @Test func aDeniedPermissionStopsBeforeTheToken() async throws {
        let world = try DeviceWorld()
        world.system.state.withLock { $0.answerWhenAsked = .denied }
        try await world.signIn()
        try await world.enroll()
        var status = try await world.device.status
        #expect(status.permission == .denied)
        #expect(status.registration == .waiting)
        #expect(status.actions == [.openSystemSettings])
        #expect(world.system.state.withLock { $0.tokensAsked } == 0)
        // Somebody allows it in the system's settings and comes back.
        world.system.state.withLock { $0.permission = .granted }
        try await world.device.reconcile(.foreground)
        status = try await world.device.status
        #expect(status.registration == .registered)
        #expect(world.system.state.withLock { $0.asked } == 1)
    }

    @Test func permissionAndRegistrationAreIndependent() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        try await world.enroll()
        world.system.state.withLock { $0.permission = .denied }
        try await world.device.reconcile(.foreground)
        let denied = try await world.device.status
        #expect(denied.permission == .denied)
        #expect(denied.registration == .registered)
        #expect(denied.actions == [.openSystemSettings])
        // The server forgets the phone while the permission is there.
        world.system.state.withLock { $0.permission = .granted }
        world.server.world.withLock { $0.phones["phone-1"]?.token = nil }
        world.server.fail("/push/encrypted-register", .answer(503, "busy"))
        try await world.device.reconcile(.foreground)
        let failed = try await world.device.status
        #expect(failed.permission == .granted)
        #expect(failed.registration == .failed(.unavailable))
        #expect(failed.actions == [.retry])
        try await world.device.retry()
        #expect(try await world.device.status.registration == .registered)
        #expect(try await world.device.status.actions == [])
    }

    @Test(arguments: [DeviceEvent.Occasion.launch, .foreground, .networkRecovered])
    func isReconciled(_ occasion: DeviceEvent.Occasion) async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        world.server.fail("/push/encrypted-register", .unreachable)
        _ = await world.code { try await world.enroll() }
        #expect(try await world.device.status.registration == .failed(.unreachable))
        let again = try world.restarted()
        try await again.device.reconcile(occasion)
        #expect(try await again.device.status.registration == .registered)
    }

    @Test func theReturnOfTheNetworkReconciles() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        world.down()
        _ = await world.code { try await world.enroll() }
        world.down(false)
        async let following: Void = world.device.follow(world.system)
        _ = world.system.network.trySend(true)
        world.system.network.finish()
        await following
        #expect(try await world.device.status.registration == .registered)
    }

    @Test func aNewTokenAtLaunchIsRegistered() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        try await world.enroll()
        world.system.state.withLock { $0.token = "11ee" }
        try await world.device.reconcile(.foreground)
        #expect(world.server.world.withLock { $0.phones["phone-1"]?.token } == "00ff")
        try await world.device.reconcile(.launch)
        #expect(world.server.world.withLock { $0.phones["phone-1"]?.token } == "11ee")
    }

    @Test func aSuspectTokenIsRegisteredAgain() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        try await world.enroll()
        world.server.world.withLock { $0.phones["phone-1"]?.reason = "suspect" }
        try await world.device.reconcile(.foreground)
        #expect(try await world.device.status.registration == .registered)
        #expect(world.server.requests(to: "/push/encrypted-register").count == 2)
    }

    @Test func aMissingTokenIsAnErrorWithRetry() async throws {
        let world = try DeviceWorld()
        world.system.state.withLock { $0.token = nil }
        try await world.signIn()
        #expect(await world.code { try await world.enroll() } == .token)
        #expect(try await world.device.status.registration == .failed(.token))
        #expect(try await world.device.status.actions == [.retry])
        world.system.state.withLock { $0.token = "00ff" }
        try await world.device.retry()
        #expect(try await world.device.status.registration == .registered)
    }

    @Test func aServerWithoutARelayIsSaidSoAndTriedAgain() async throws {
        let world = try DeviceWorld()
        try await world.signIn()
        world.server.fail("/push/encrypted-register", .answer(400, "relay_not_configured"))
        #expect(await world.code { try await world.enroll() } == .relayMissing)
        #expect(try await world.device.status.registration == .failed(.relayMissing))
        try await world.device.reconcile(.foreground)
        #expect(try await world.device.status.registration == .registered)
    }
}
