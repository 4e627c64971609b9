import Loop

/// Counts observations in buckets; safe from any thread.
package final class Histogram: Sendable {
    /// Upper bounds of the buckets, ascending, without the last one that takes the rest.
    package let buckets: [Double]
    private let state: Locked<Reading>

    /// What was counted: per bucket, the last one being what lies above every bound.
    package struct Reading: Sendable, Hashable {
        package var counts: [UInt64]
        package var sum: Double = 0
    }

    /// Bounds must be ascending.
    package init(buckets: [Double]) {
        precondition(
            zip(buckets, buckets.dropFirst()).allSatisfy { $0 < $1 },
            "bucket bounds ascend"
        )
        self.buckets = buckets
        state = Locked(Reading(counts: Array(repeating: 0, count: buckets.count + 1)))
    }

    /// Counts one value; one that is not a number is ignored.
    package func observe(_ value: Double) {
        guard !value.isNaN else { return }
        let index = buckets.firstIndex { value <= $0 } ?? buckets.count
        state.withLock { state in
            state.counts[index] += 1
            state.sum += value
        }
    }

    /// Counts one duration in seconds.
    package func observe(_ duration: Duration) {
        observe(duration.inSeconds)
    }

    /// What was counted so far.
    package var reading: Reading {
        state.withLock { $0 }
    }
}
