import Loop

/// Whether the process can do its work: a set of named conditions that all have to hold.
package final class Readiness: Sendable {
    /// How one condition stands.
    package enum Standing: Hashable, Sendable {
        case ok
        /// Not yet or no longer; the reason is one line for the operator.
        case waiting(String)
        /// It runs, and cannot do its work until the operator gives what the reason names.
        case lacking(String)

        /// Why it does not hold; nil when it does.
        package var reason: String? {
            switch self {
            case .ok: nil
            case .waiting(let reason), .lacking(let reason): reason
            }
        }
    }

    private struct State {
        var conditions: [String: Standing] = [:]
        var waiters: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        var nextID: UInt64 = 0

        var isReady: Bool {
            conditions.values.allSatisfy { $0 == .ok }
        }

        var hasStarted: Bool {
            !conditions.values.contains { if case .waiting = $0 { true } else { false } }
        }
    }

    private let state = Locked(State())

    package init() {}

    /// Sets a condition; naming it for the first time declares it.
    package func set(_ name: String, _ standing: Standing) {
        let waiters = state.withLock { state -> [CheckedContinuation<Bool, Never>] in
            state.conditions[name] = standing
            guard state.hasStarted else { return [] }
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: true) }
    }

    /// Whether every declared condition holds.
    package var isReady: Bool {
        state.withLock { $0.isReady }
    }

    /// All conditions, sorted by name.
    package var conditions: [(name: String, standing: Standing)] {
        state.withLock { state in
            state.conditions.sorted { $0.key < $1.key }.map { (name: $0.key, standing: $0.value) }
        }
    }

    /// Returns true once every condition holds or lacks what only the operator can give, false when
    /// the task is cancelled before that.
    package func waitUntilStarted() async -> Bool {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    if state.hasStarted { return true }
                    if Task.isCancelled { return false }
                    state.waiters[id] = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: false)
        }
    }
}
