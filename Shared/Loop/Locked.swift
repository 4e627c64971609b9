import Glibc

/// A value behind a pthread mutex.
///
/// `Synchronization.Mutex` is not used because ThreadSanitizer does not see its lock on Linux.
// Sendable by proof: `state` is only reached inside `withLock`, between lock and unlock of the
// mutex, and what goes in or out is `sending`, so no reference to it stays outside.
package final class Locked<State>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    // Guarded by `mutex`; the annotation lets the closure take it as `inout sending`.
    private nonisolated(unsafe) var state: State

    /// Puts a value behind the lock; nobody else may keep a reference to it.
    package init(_ state: sending State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        let result = pthread_mutex_init(mutex, nil)
        precondition(result == 0, "a default mutex cannot fail to initialise")
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs the closure alone; it must be short and must not lock the same box again.
    package func withLock<Result, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }
}
