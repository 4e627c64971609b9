import Contracts
import FoundationEssentials
import PushBusDevice

/// What the headless phone has for an operating system: a person who allows notifications when asked,
/// and the token that the simulator issued.
struct PhoneSystem: NotificationPermission, DeviceTokenSource, TargetLookup {
    let store: FileStore
    /// How to have a token issued; nil where the simulator is not at hand.
    let simulator: SimulatorClient?
    /// What every look at the app's own server finds.
    var answer = LookupAnswer.available

    /// What `--target` takes.
    enum LookupAnswer: String, CaseIterable {
        case available
        /// A newer cycle is in the place of the alert.
        case newer
        case gone
        case forbidden
        case unreachable
    }

    private static let permissionFile = "permission"

    // MARK: Permission

    func status() async -> PermissionStatus {
        guard let bytes = try? store.read(Self.permissionFile) else { return .notAsked }
        let status = try? JSONDecoder().decode([PermissionStatus].self, from: Data(bytes))
        return status?.first ?? .notAsked
    }

    func request() async -> PermissionStatus {
        let status = await status()
        guard status == .notAsked else { return status }
        try? set(.granted)
        return await self.status()
    }

    /// Sets the permission, as somebody does in the system's settings.
    func set(_ status: PermissionStatus) throws {
        try store.write([UInt8](try JSONEncoder().encode([status])), Self.permissionFile)
    }

    // MARK: Token

    func token() async throws(DeviceTokenFailure) -> IssuedToken {
        do {
            if let state = try PhoneState.load(store),
                simulator.map({ $0.environment == state.environment }) ?? true
            {
                return IssuedToken(token: state.token, environment: state.environment)
            }
            guard let simulator else {
                throw DeviceTokenFailure("'phone run' with --simulator has one issued")
            }
            let issued = PhoneState(
                token: try await simulator.issueToken(),
                environment: simulator.environment
            )
            try issued.save(store)
            return IssuedToken(token: issued.token, environment: issued.environment)
        } catch {
            throw error as? DeviceTokenFailure ?? DeviceTokenFailure("\(error)")
        }
    }

    // MARK: Targets

    func look(for destination: TapTarget.Destination) async -> TargetAnswer {
        switch answer {
        case .available: return .available(destination)
        case .newer:
            guard case .alert(var key) = destination else { return .available(destination) }
            key.startedAt += " (newer)"
            return .available(.alert(key))
        case .gone: return .gone
        case .forbidden: return .forbidden
        case .unreachable: return .unreachable
        }
    }
}
