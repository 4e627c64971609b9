import Contracts
import Glibc

/// Where time comes from; a parameter everywhere, so that tests can move it.
package protocol TimeSource: Sendable {
    /// The wall clock, which may jump; only for instants that cross a process boundary.
    var wall: UnixMilliseconds { get }

    /// The clock for waiting and measuring.
    var monotonic: MonotonicInstant { get }

    /// Returns at that instant or later; throws `CancellationError` when the task is cancelled.
    func sleep(until instant: MonotonicInstant) async throws
}

extension TimeSource {
    /// Returns after that time; throws `CancellationError` when the task is cancelled.
    package func sleep(for duration: Duration) async throws {
        try await sleep(until: monotonic + duration)
    }
}

/// The clocks of the operating system: CLOCK_REALTIME and CLOCK_BOOTTIME.
package struct SystemTime: TimeSource {
    package init() {}

    package var wall: UnixMilliseconds {
        let now = Self.read(CLOCK_REALTIME)
        return UnixMilliseconds(Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000)
    }

    package var monotonic: MonotonicInstant {
        let now = Self.read(CLOCK_BOOTTIME)
        return MonotonicInstant(
            nanoseconds: Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
        )
    }

    package func sleep(until instant: MonotonicInstant) async throws {
        try Task.checkCancellation()
        while case let rest = monotonic.duration(to: instant), rest > .zero {
            // A day at a time keeps the sum within what the runtime's clock can carry.
            try await Task.sleep(for: min(rest, .seconds(86_400)))
        }
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var now = timespec()
        clock_gettime(clock, &now)
        return now
    }
}
