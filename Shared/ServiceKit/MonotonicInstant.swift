/// An instant of a clock that only moves forward; comparable within one boot of one machine.
package struct MonotonicInstant: Comparable, Hashable, Sendable {
    /// Nanoseconds since an arbitrary start.
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The instant that much later, held at the ends of the range instead of overflowing.
    package func advanced(by duration: Duration) -> Self {
        let more = duration.clampedNanoseconds
        let (sum, overflow) = nanoseconds.addingReportingOverflow(more)
        return Self(nanoseconds: overflow ? (more > 0 ? .max : .min) : sum)
    }

    /// How much later the other instant is; negative when it is earlier.
    package func duration(to other: Self) -> Duration {
        .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
    }

    package static func + (instant: Self, duration: Duration) -> Self {
        instant.advanced(by: duration)
    }

    package static func - (instant: Self, duration: Duration) -> Self {
        instant.advanced(by: .zero - duration)
    }

    package static func - (left: Self, right: Self) -> Duration {
        right.duration(to: left)
    }
}

extension Duration {
    /// Whole nanoseconds, rounded down and held within what an `Int64` can carry.
    package var clampedNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (nanoseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, overflowed) = nanoseconds.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflowed ? (seconds < 0 ? .min : .max) : sum
    }

    /// The duration in seconds, for metrics and log lines.
    package var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
