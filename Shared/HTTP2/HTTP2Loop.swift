import Glibc
import Loop

/// A loop thread for HTTP/2 sockets: the executor and its epoll backend.
///
/// Any number of connections and listeners share one. Callers that run on `executor` (actors
/// pinned to it, tasks with it as preference) talk to them without changing threads.
package final class HTTP2Loop: Sendable {
    package let executor: LoopExecutor
    let epoll: EpollBackend

    /// Starts the thread; fails only when the system has no descriptor or thread left.
    package init(name: String) throws(SystemCallError) {
        epoll = try EpollBackend()
        executor = try LoopExecutor(name: name, backend: epoll)
    }

    /// Ends the thread; close connections and listeners before.
    package func stop() { executor.stop() }
}

/// Nanoseconds of the monotonic clock; the transport measures its deadlines with it.
func monotonicNanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

extension Duration {
    /// Whole nanoseconds, held within 0 and about 290 years.
    var nanosecondsClamped: Int64 {
        let (seconds, attoseconds) = components
        if seconds < 0 { return 0 }
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max / 2 : min(.max / 2, product + attoseconds / 1_000_000_000)
    }
}
