import Glibc

/// Waits on a condition variable: the backend of a loop that owns no descriptor.
// Sendable by proof: `woken` is only touched while `mutex` is held; the pointers are constant.
package final class ConditionBackend: LoopBackend, @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var woken = false

    /// Sets up a condition on the monotonic clock.
    package init() {
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    package func wait(atMost timeout: Duration?) {
        pthread_mutex_lock(mutex)
        defer {
            woken = false
            pthread_mutex_unlock(mutex)
        }
        guard let timeout else {
            while !woken { pthread_cond_wait(condition, mutex) }
            return
        }
        let nanoseconds = timeout.clampedNanoseconds
        guard nanoseconds > 0 else { return }
        let (sum, overflow) = loopNow().addingReportingOverflow(nanoseconds)
        let deadline = overflow ? Int64.max : sum
        var until = timespec(
            tv_sec: Int(deadline / 1_000_000_000),
            tv_nsec: Int(deadline % 1_000_000_000)
        )
        while !woken {
            if pthread_cond_timedwait(condition, mutex, &until) != 0 { return }
        }
    }

    package func wake() {
        pthread_mutex_lock(mutex)
        woken = true
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }
}
