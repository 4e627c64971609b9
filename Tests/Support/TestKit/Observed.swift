import Loop

/// A value that tests and test doubles change, and that a test can wait for.
package final class Observed<Value: Sendable>: Sendable {
    private struct Watcher {
        let id: UInt64
        let condition: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Value?, Never>
    }

    private struct State {
        var value: Value
        var watchers: [Watcher] = []
        var nextID: UInt64 = 0
    }

    private let state: Locked<State>

    package init(_ value: Value) {
        state = Locked(State(value: value))
    }

    /// The value as it is now.
    package var value: Value {
        state.withLock { $0.value }
    }

    /// Changes the value and tells those who wait for what it has become.
    package func update(_ change: @Sendable (inout Value) -> Void) {
        let (value, satisfied) = state.withLock { state -> (Value, [Watcher]) in
            change(&state.value)
            let value = state.value
            let satisfied = state.watchers.filter { $0.condition(value) }
            state.watchers.removeAll { $0.condition(value) }
            return (value, satisfied)
        }
        for watcher in satisfied { watcher.continuation.resume(returning: value) }
    }

    /// Returns the first value that meets the condition, or nil when the task is cancelled first.
    @discardableResult
    package func wait(until condition: @escaping @Sendable (Value) -> Bool) async -> Value? {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (now, value) = state.withLock { state -> (Bool, Value?) in
                    if condition(state.value) { return (true, state.value) }
                    if Task.isCancelled { return (true, nil) }
                    state.watchers.append(
                        Watcher(id: id, condition: condition, continuation: continuation)
                    )
                    return (false, nil)
                }
                if now { continuation.resume(returning: value) }
            }
        } onCancel: {
            let watcher = state.withLock { state -> Watcher? in
                guard let index = state.watchers.firstIndex(where: { $0.id == id }) else {
                    return nil
                }
                return state.watchers.remove(at: index)
            }
            watcher?.continuation.resume(returning: nil)
        }
    }
}
