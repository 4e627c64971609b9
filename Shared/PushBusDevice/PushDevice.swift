import Contracts

/// The app's side: one login at one server, its registration and its content keys.
///
/// What happens is decided by ``DeviceState``, a value; this actor stores each new state before it
/// performs what follows from it through the ports, and feeds the answers back. Several processes may
/// share the storage: the stored state is the truth, and is read before every change.
package actor PushDevice {
    /// What the app lends: everything of the platform comes through here.
    package struct Environment: Sendable {
        package var transport: any HTTPTransport
        package var store: any DeviceStore
        package var permission: any NotificationPermission
        package var tokens: any DeviceTokenSource
        package var targets: any TargetLookup
        package var now: @Sendable () -> UnixMilliseconds
        /// That many unpredictable bytes.
        package var random: @Sendable (Int) -> [UInt8]

        package init(
            transport: any HTTPTransport,
            store: any DeviceStore,
            permission: any NotificationPermission,
            tokens: any DeviceTokenSource,
            targets: any TargetLookup,
            now: @escaping @Sendable () -> UnixMilliseconds,
            random: @escaping @Sendable (Int) -> [UInt8]
        ) {
            self.transport = transport
            self.store = store
            self.permission = permission
            self.tokens = tokens
            self.targets = targets
            self.now = now
            self.random = random
        }
    }

    /// Effects of one event that are performed at most; nothing sensible needs as many.
    static let effectLimit = 64

    package nonisolated let installationID: InstallationID
    nonisolated let environment: Environment
    /// Names this process among those that share the storage.
    let processName: String
    let refreshTurn = Turn()
    private let workTurn = Turn()
    /// What follows from a login that the server rejected while something else was under way.
    var due: [DeviceEffect] = []
    /// Tokens that were received and could not be stored: the server has no others any more.
    var unstoredSession: Session?

    /// Takes up what is stored. The installation is named at its first start, by the app or at random,
    /// and keeps its name.
    package init(
        installationID wanted: InstallationID? = nil,
        environment: Environment
    ) throws(DeviceError) {
        self.environment = environment
        processName = Hex.encode(environment.random(8))
        installationID = try Self.installation(wanted, environment)
        // A state that cannot be read is no absence: nothing may be done over it.
        let _: DeviceState? = try environment.store.value(.state)
    }

    private static func installation(
        _ wanted: InstallationID?,
        _ environment: Environment
    ) throws(DeviceError) -> InstallationID {
        let stored: InstallationID? = try environment.store.value(.installation)
        if let stored {
            guard wanted == nil || wanted == stored else {
                throw DeviceError(.refused, "this storage belongs to installation \(stored)")
            }
            return stored
        }
        let random = UUIDIdentifier<InstallationTag>(random16: environment.random(16))
        guard let name = wanted ?? random.map({ InstallationID($0.description) }) else {
            throw .storage("there are no random bytes for the installation's name")
        }
        try environment.store.store(name, .installation)
        return name
    }

    // MARK: State

    /// What is stored now.
    package var state: DeviceState {
        get throws(DeviceError) {
            var state: DeviceState = try environment.store.value(.state) ?? DeviceState()
            if let unstoredSession, state.login?.session.sessionID == unstoredSession.sessionID {
                state.login?.session = unstoredSession
            }
            return state
        }
    }

    /// What people are to be shown.
    package var status: DeviceStatus {
        get throws(DeviceError) { DeviceStatus(try state, at: now) }
    }

    var now: UnixSeconds { environment.now().second }

    /// Changes the state alone and durably, or not at all.
    @discardableResult
    func transact<Value: Sendable>(
        _ body: (inout DeviceState) throws(DeviceError) -> Value
    ) throws(DeviceError) -> Value {
        var outcome: Result<Value, DeviceError> = .failure(.storage("the storage cannot be locked"))
        do {
            try environment.store.exclusively {
                do throws(DeviceError) {
                    let stored: DeviceState = try environment.store.value(.state) ?? DeviceState()
                    var changed = try state
                    let value = try body(&changed)
                    if changed != stored { try environment.store.store(changed, .state) }
                    unstoredSession = nil
                    outcome = .success(value)
                } catch {
                    outcome = .failure(error)
                }
            }
        } catch {
            throw .storage("the storage cannot be locked")
        }
        return try outcome.get()
    }

    /// Takes an event in; returns what follows, with the generation it follows under.
    func take(_ event: DeviceEvent) throws(DeviceError) -> Work {
        let now = now
        return try transact { state throws(DeviceError) in
            let effects = try state.handle(event, at: now)
            return Work(effects: effects, generation: state.generation)
        }
    }

    /// What is to be done under a generation.
    struct Work: Sendable {
        var effects: [DeviceEffect]
        var generation: Int64
    }

    /// Takes an event in and does all that follows; the last failure on the way is returned.
    @discardableResult
    package func send(_ event: DeviceEvent) async throws(DeviceError) -> DeviceError? {
        await perform(try take(event))
    }

    /// Performs effects and what follows from their results, one after the other and never beside
    /// other work.
    @discardableResult
    func perform(_ work: Work) async -> DeviceError? {
        await workTurn.take()
        defer { workTurn.give() }
        var queue = work.effects
        var generation = work.generation
        var failure: DeviceError?
        var left = Self.effectLimit
        while left > 0 {
            queue += due.filter { !queue.contains($0) }
            due = []
            guard !queue.isEmpty else { break }
            let effect = queue.removeFirst()
            left -= 1
            do throws(DeviceError) {
                guard try wants(effect, under: generation) else {
                    // What others did meanwhile may have left another step in its place.
                    let next = try state.successors(of: effect)
                    queue += next.filter { !queue.contains($0) }
                    continue
                }
                let (event, trouble) = try await result(of: effect, under: generation)
                if let trouble {
                    failure = trouble
                    if trouble.code == .unreachable { queue.removeAll { $0.isLike(effect) } }
                }
                guard let event else { continue }
                let more = try take(event)
                if !more.effects.isEmpty { generation = more.generation }
                queue += more.effects.filter { !queue.contains($0) }
            } catch {
                failure = error
            }
        }
        return failure
    }

    private func wants(
        _ effect: DeviceEffect,
        under generation: Int64
    ) throws(DeviceError) -> Bool {
        let state = try state
        if effect.needsLogin, state.generation != generation { return false }
        return state.stillWants(effect)
    }
}
