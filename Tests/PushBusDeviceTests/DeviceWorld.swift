import Contracts
import FoundationEssentials
import Loop
import PushBusDevice

/// A phone with a fake server and a fake system.
struct DeviceWorld: Sendable {
    let server: FakeServer
    let system: FakeSystem
    let store: MemoryStore
    let clock: Locked<Int64>
    let device: PushDevice

    static let start: Int64 = 2_000_000_000
    static let installation = InstallationID("phone-1")

    private static let counter = Locked<UInt64>(0)

    /// Bytes that were never given before.
    private static func bytes(_ count: Int) -> [UInt8] {
        let number = counter.withLock { number in
            number += 1
            return number
        }
        return (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0 % 8))) }
    }

    init(
        server: FakeServer = FakeServer(),
        system: FakeSystem = FakeSystem(),
        store: MemoryStore = MemoryStore(),
        clock: Locked<Int64> = Locked(start)
    ) throws {
        (self.server, self.system, self.store, self.clock) = (server, system, store, clock)
        device = try PushDevice(
            installationID: Self.installation,
            environment: PushDevice.Environment(
                transport: server,
                store: store,
                permission: system,
                tokens: system,
                targets: system,
                now: { UnixSeconds(clock.withLock { $0 }).start },
                random: { Self.bytes($0) }
            )
        )
    }

    /// The app is started again.
    func restarted() throws -> DeviceWorld {
        try DeviceWorld(server: server, system: system, store: store, clock: clock)
    }

    func signIn(_ name: String = "alice") async throws {
        try await device.signIn(
            .pairing(code: Password("code-\(name)")),
            at: ServerAddress(FakeServer.address),
            deviceName: "test phone"
        )
    }

    /// Shows the disclosure and switches alerts on.
    func enroll() async throws {
        try await device.disclosureShown()
        try await device.choose(PreferenceChanges(enabled: true, alerts: true))
    }

    func pass(_ seconds: Int64) { clock.withLock { $0 += seconds } }

    func down(_ isDown: Bool = true) { server.world.withLock { $0.isDown = isDown } }

    /// Lets the server reject the login for good: its refresh token was used by somebody else.
    func steal() async throws {
        let session = try Self.required(try await device.state.login?.session)
        server.world.withLock { world in
            world.sessions[session.sessionID.text]?.used.insert(session.tokens.refresh)
            world.sessions[session.sessionID.text]?.refresh = "elsewhere"
            world.sessions[session.sessionID.text]?.access = "elsewhere"
        }
    }

    struct Missing: Error {}

    private static func required<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw Missing() }
        return value
    }

    func code(_ body: () async throws -> Void) async -> DeviceError.Code? {
        do { try await body() } catch { return (error as? DeviceError)?.code }
        return nil
    }
}
