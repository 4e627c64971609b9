import Glibc

/// Nanoseconds of a clock that only moves forward and stops while the machine sleeps.
func loopNow() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
}

extension Duration {
    /// Whole nanoseconds, rounded up and held within what an `Int64` can carry.
    var clampedNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (nanoseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return seconds < 0 ? .min : .max }
        let rest = attoseconds / 1_000_000_000 + (attoseconds % 1_000_000_000 > 0 ? 1 : 0)
        let (sum, overflowed) = nanoseconds.addingReportingOverflow(rest)
        return overflowed ? (seconds < 0 ? .min : .max) : sum
    }

    /// Whole milliseconds for poll-like calls, rounded up so that a wait does not end early.
    package var pollMilliseconds: Int32 {
        let nanoseconds = max(0, clampedNanoseconds)
        let milliseconds = nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 > 0 ? 1 : 0)
        return Int32(clamping: milliseconds)
    }
}
