import Contracts
import Loop
import PushBusDevice
import Testing

@Suite struct PushDeviceTests {
    private struct World {
        var device: PushDevice
        var server: ScriptedServer
        var store: MemoryStore
    }

    private static let installation = InstallationID("phone-1")

    private func world(
        store: MemoryStore = MemoryStore(),
        now: @escaping @Sendable () -> Int64 = { 2_000_000_000 },
        _ script: @escaping ScriptedServer.Script
    ) throws -> World {
        let server = ScriptedServer(script)
        let counter = Locked<UInt8>(0)
        let environment = PushDevice.Environment(
            transport: server,
            store: store,
            now: { UnixSeconds(now()).start },
            random: { count in
                let byte = counter.withLock {
                    $0 += 1
                    return $0
                }
                return [UInt8](repeating: byte, count: count)
            }
        )
        let device = try PushDevice(
            installationID: Self.installation,
            environment: environment
        )
        return World(device: device, server: server, store: store)
    }

    private func signIn(_ world: World) async throws {
        try await world.device.signIn(
            .pairing(code: Password("code")),
            at: ServerAddress("https://push.example.test"),
            deviceName: "test phone"
        )
    }

    private func token() throws -> DeviceToken {
        try #require(DeviceToken("00ff"))
    }

    @Test func pairingStoresSessionRecipientAndKey() async throws {
        let world = try world { _ throws(TransportFailure) in ScriptedServer.session(1) }
        try await signIn(world)
        let request = try #require(world.server.requests.first)
        #expect(request.method == "POST")
        #expect(request.path == "/api/mobile/auth/pair")
        #expect(request.bearer == nil)
        #expect(request.body?["code"] == .string("code"))
        #expect(request.body?["installation_id"] == .string("phone-1"))
        let session: Session? = try world.store.value(.session)
        #expect(session?.tokens.access == "access-1")
        #expect(session?.tokens.accessExpiresAt == UnixSeconds(2_000_000_900))
        let keyring: ContentKeyring? = try world.store.value(.keys)
        #expect(keyring?.sessionID == session?.sessionID)
        let recipient: Recipient? = try world.store.value(.recipient)
        #expect(recipient?.deploymentID == DeploymentID("https://push.example.test"))
        // A second device object of the same installation takes the login up.
        let again = try self.world(store: world.store) { _ throws(TransportFailure) in
            ScriptedServer.refusal(500)
        }
        #expect(await again.device.account?.userID == UserID("user-1"))
    }

    @Test func aSecondSignInMustWaitForTheSignOut() async throws {
        let world = try world { _ throws(TransportFailure) in ScriptedServer.session(1) }
        try await signIn(world)
        await #expect(throws: DeviceError.self) { try await signIn(world) }
        #expect(world.server.requests.count == 1)
    }

    @Test func theAccessTokenIsRefreshedBeforeItEndsAndOnlyOnceForAll() async throws {
        let clock = Locked<Int64>(2_000_000_000)
        let world = try world(now: { clock.withLock { $0 } }) { seen throws(TransportFailure) in
            switch seen.path {
            case "/api/mobile/auth/pair": ScriptedServer.session(1)
            case "/api/mobile/auth/refresh": ScriptedServer.session(2)
            default: ScriptedServer.settings(revision: 3)
            }
        }
        try await signIn(world)
        _ = try await world.device.settings()
        clock.withLock { $0 += 841 }
        async let first = world.device.settings()
        async let second = world.device.settings()
        _ = try await (first, second)
        let refreshes = world.server.requests.filter { $0.path.hasSuffix("refresh") }
        #expect(refreshes.count == 1)
        #expect(refreshes.first?.body?["refresh_token"] == .string("refresh-1"))
        let bearers = world.server.requests.compactMap(\.bearer)
        #expect(bearers == ["access-1", "access-2", "access-2"])
        let session: Session? = try world.store.value(.session)
        #expect(session?.tokens.refresh == "refresh-2")
    }

    @Test func aRefusedAccessTokenIsRefreshedOnce() async throws {
        let world = try world { seen throws(TransportFailure) in
            switch (seen.path, seen.bearer) {
            case ("/api/mobile/auth/pair", _): ScriptedServer.session(1)
            case ("/api/mobile/auth/refresh", _): ScriptedServer.session(2)
            case (_, "access-2"): ScriptedServer.settings(revision: 3)
            default: ScriptedServer.refusal(401)
            }
        }
        try await signIn(world)
        #expect(try await world.device.settings().revision == 3)
    }

    @Test func tokensThatAnotherProcessRefreshedAreTakenUp() async throws {
        let world = try world { seen throws(TransportFailure) in
            switch (seen.path, seen.bearer) {
            case ("/api/mobile/auth/pair", _): ScriptedServer.session(1)
            case (_, "access-9"): ScriptedServer.settings(revision: 3)
            default: ScriptedServer.refusal(401)
            }
        }
        try await signIn(world)
        var session: Session = try #require(try world.store.value(.session))
        session.tokens.access = "access-9"
        try world.store.store(session, .session)
        #expect(try await world.device.settings().revision == 3)
        #expect(!world.server.requests.contains { $0.path.hasSuffix("refresh") })
    }

    @Test func aLoginThatAnotherProcessEndedIsOver() async throws {
        let world = try world { seen throws(TransportFailure) in
            seen.path.hasSuffix("pair") ? ScriptedServer.session(1) : ScriptedServer.refusal(401)
        }
        try await signIn(world)
        try world.store.remove(.session)
        let error = await #expect(throws: DeviceError.self) { try await world.device.settings() }
        #expect(error?.code == .signedOut)
        #expect(await world.device.account == nil)
    }

    @Test func aRefusedRefreshTokenEndsTheLogin() async throws {
        let world = try world { seen throws(TransportFailure) in
            seen.path.hasSuffix("pair") ? ScriptedServer.session(1) : ScriptedServer.refusal(401)
        }
        try await signIn(world)
        let error = await #expect(throws: DeviceError.self) { try await world.device.settings() }
        #expect(error?.code == .unauthorized)
        #expect(await world.device.account == nil)
        for item in [DeviceItem.session, .keys, .recipient] {
            #expect(try world.store.read(item) == nil)
        }
    }

    @Test func registeringTakesAFreshRevisionWhenOthersAreFaster() async throws {
        let revision = Locked<Int64>(4)
        let world = try world { seen throws(TransportFailure) in
            switch seen.path {
            case "/api/mobile/auth/pair": return ScriptedServer.session(1)
            case "/api/mobile/push/encrypted-register":
                guard seen.body?["expected_revision"] == .integer(6) else {
                    return ScriptedServer.refusal(409)
                }
                return ScriptedServer.settings(revision: 7)
            default:
                let now = revision.withLock {
                    $0 += 1
                    return $0
                }
                return ScriptedServer.settings(revision: now)
            }
        }
        try await signIn(world)
        try await world.device.register(token: token(), apns: .sandbox)
        let body = try #require(world.server.requests.last?.body)
        #expect(body["device_token"] == .string("00ff"))
        #expect(body["environment"] == .string("sandbox"))
        #expect(body["deployment_id"] == .string("https://push.example.test"))
        let keyring: ContentKeyring? = try world.store.value(.keys)
        #expect(body["content_key_id"]?.string == keyring?.current.id.description)
        #expect(
            body["content_key"]?.string.flatMap(Blob.init(base64:))?.bytes
                == keyring?.current.key.bytes
        )
        #expect(body.object?.count == 6)
    }

    @Test func aNewKeyTakesItsPlaceOnlyWhenTheServerHasIt() async throws {
        let fails = Locked(true)
        let world = try world { seen throws(TransportFailure) in
            switch seen.path {
            case "/api/mobile/auth/pair": return ScriptedServer.session(1)
            case "/api/mobile/push/encrypted-register":
                return fails.withLock { $0 }
                    ? ScriptedServer.refusal(503) : ScriptedServer.settings(revision: 2)
            default: return ScriptedServer.settings(revision: 1)
            }
        }
        try await signIn(world)
        let first: ContentKeyring? = try world.store.value(.keys)
        await #expect(throws: DeviceError.self) {
            try await world.device.register(token: token(), apns: .sandbox, newKey: true)
        }
        let between: ContentKeyring? = try world.store.value(.keys)
        #expect(between?.current == first?.current)
        #expect(between?.staged != nil)
        fails.withLock { $0 = false }
        try await world.device.register(token: token(), apns: .sandbox)
        let last: ContentKeyring? = try world.store.value(.keys)
        #expect(last?.current == between?.staged)
        #expect(last?.previous?.entry == first?.current)
        #expect(last?.staged == nil)
    }

    @Test func signingOutRemovesEverythingButTheLog() async throws {
        let world = try world { seen throws(TransportFailure) in
            seen.path.hasSuffix("pair")
                ? ScriptedServer.session(1) : TransportReply(status: 204)
        }
        try await signIn(world)
        try world.store.store(ShownLog(), .shown)
        try await world.device.signOut()
        #expect(world.server.requests.last?.path == "/api/mobile/auth/logout")
        #expect(world.server.requests.last?.bearer == "access-1")
        for item in [DeviceItem.session, .keys, .recipient] {
            #expect(try world.store.read(item) == nil)
        }
        #expect(try world.store.read(.shown) != nil)
        let error = await #expect(throws: DeviceError.self) { try await world.device.settings() }
        #expect(error?.code == .signedOut)
    }

    @Test func anUnreachableServerKeepsTheLogin() async throws {
        let world = try world { seen throws(TransportFailure) in
            if seen.path.hasSuffix("pair") { return ScriptedServer.session(1) }
            throw TransportFailure("no route")
        }
        try await signIn(world)
        let error = await #expect(throws: DeviceError.self) { try await world.device.signOut() }
        #expect(error?.code == .unreachable)
        #expect(error?.isRetriable == true)
        #expect(await world.device.account != nil)
    }

    @Test func aReplyThatComesAfterTheSignOutIsDiscarded() async throws {
        let arrived = StopSignal()
        let release = StopSignal()
        let world = try world { seen throws(TransportFailure) in
            switch seen.path {
            case "/api/mobile/auth/pair": return ScriptedServer.session(1)
            case "/api/mobile/auth/logout": return TransportReply(status: 204)
            default:
                arrived.trigger()
                await release.wait()
                return ScriptedServer.settings(revision: 1)
            }
        }
        try await signIn(world)
        async let settings = world.device.settings()
        await arrived.wait()
        try await world.device.signOut()
        release.trigger()
        do {
            _ = try await settings
            Issue.record("the reply was used")
        } catch let error as DeviceError {
            #expect(error.code == .superseded)
        }
    }

    @Test func redirectsAreNeverFollowed() async throws {
        let world = try world { seen throws(TransportFailure) in
            seen.path.hasSuffix("pair")
                ? TransportReply(status: 307, headers: [("Location", "https://evil.example.test")])
                : ScriptedServer.refusal(500)
        }
        let error = await #expect(throws: DeviceError.self) { try await signIn(world) }
        #expect(error?.code == .redirected)
        #expect(world.server.requests.count == 1)
    }

    @Test func refusalsAreTyped() async throws {
        let cases: [(Int, DeviceError.Code)] = [
            (400, .refused), (403, .forbidden), (409, .staleRevision), (429, .throttled),
            (503, .unavailable), (200, .malformedReply),
        ]
        for (status, code) in cases {
            let world = try world { _ throws(TransportFailure) in
                ScriptedServer.refusal(status, "say\nthis")
            }
            let error = await #expect(throws: DeviceError.self) { try await signIn(world) }
            #expect(error?.code == code)
            if status != 200 { #expect(error?.message == "saythis") }
        }
    }

    @Test func anotherConflictIsNotAStaleRevision() async throws {
        let world = try world { seen throws(TransportFailure) in
            seen.path.hasSuffix("pair")
                ? ScriptedServer.session(1) : ScriptedServer.refusal(409, code: "not_registered")
        }
        try await signIn(world)
        let id = try OpenerFixture.event(1)
        let error = await #expect(throws: DeviceError.self) {
            try await world.device.requestTest(id, expectedRevision: 2)
        }
        #expect(error?.code == .refused)
        #expect(error?.serverCode == "not_registered")
    }

    @Test func aTestNotificationIsAskedForUnderItsOwnIdentifier() async throws {
        let world = try world { seen throws(TransportFailure) in
            if seen.path.hasSuffix("pair") { return ScriptedServer.session(1) }
            return ScriptedServer.data([
                "event_id": .string("01010101-0101-8101-8101-010101010101"),
                "outcome": .string(seen.method == "POST" ? "pending" : "accepted"),
                "reason": .null, "presentation": .string("unobserved"),
            ])
        }
        try await signIn(world)
        let id = try OpenerFixture.event(1)
        let first = try await world.device.requestTest(id, expectedRevision: 2)
        #expect(!first.isFinal)
        let second = try await world.device.testOutcome(id)
        #expect(second.isFinal)
        #expect(world.server.requests.last?.path == "/api/mobile/push/test/\(id)")
    }
}
