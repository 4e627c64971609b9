/// A signal that is raised once and stays raised: the request to stop.
package final class StopSignal: Sendable {
    private struct State {
        var triggered = false
        var nextID: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var bodies: [UInt64: @Sendable () -> Void] = [:]
    }

    /// Names a closure given to `onTrigger`, to take it back.
    package struct Registration: Sendable, Hashable {
        fileprivate let id: UInt64
    }

    private let state = Locked(State())

    package init() {}

    /// Whether the signal was raised.
    package var isTriggered: Bool {
        state.withLock { $0.triggered }
    }

    /// Raises the signal; closures run on the calling thread, in the order they were registered.
    package func trigger() {
        let (waiters, bodies) = state.withLock { state in
            state.triggered = true
            defer {
                state.waiters = [:]
                state.bodies = [:]
            }
            let bodies = state.bodies.sorted { $0.key < $1.key }.map(\.value)
            return (Array(state.waiters.values), bodies)
        }
        for waiter in waiters { waiter.resume() }
        for body in bodies { body() }
    }

    /// Returns when the signal is raised or the task is cancelled, whichever comes first.
    package func wait() async {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let done = state.withLock { state in
                    // The cancelled flag is set before the handler runs: whoever comes second
                    // through this lock resumes the continuation.
                    if state.triggered || Task.isCancelled { return true }
                    state.waiters[id] = continuation
                    return false
                }
                if done { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }

    /// Calls the closure once when the signal is raised, at once if it already is.
    @discardableResult
    package func onTrigger(_ body: @escaping @Sendable () -> Void) -> Registration {
        let (registration, now) = state.withLock { state -> (Registration, Bool) in
            state.nextID += 1
            if !state.triggered { state.bodies[state.nextID] = body }
            return (Registration(id: state.nextID), state.triggered)
        }
        if now { body() }
        return registration
    }

    /// Forgets a closure that has not run.
    package func remove(_ registration: Registration) {
        _ = state.withLock { $0.bodies.removeValue(forKey: registration.id) }
    }
}
