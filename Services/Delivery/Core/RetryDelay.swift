/// How long a row waits before its next attempt: doubling with full jitter.
package struct RetryDelay: Hashable, Sendable {
    package let baseMilliseconds: Int64
    package let capMilliseconds: Int64

    package init(baseMilliseconds: Int64, capMilliseconds: Int64) {
        self.baseMilliseconds = baseMilliseconds
        self.capMilliseconds = capMilliseconds
    }

    /// After an ordinary failure.
    package static let ordinary = RetryDelay(baseMilliseconds: 1000, capMilliseconds: 240_000)
    /// After an APNs 5xx or other trouble of the provider itself.
    package static let provider = RetryDelay(baseMilliseconds: 60_000, capMilliseconds: 900_000)

    /// The longest delay after this many failures (1 = the first); never overflows.
    package func ceiling(failures: Int64) -> Int64 {
        let doublings = max(1, failures) - 1
        guard doublings < 62, baseMilliseconds <= capMilliseconds >> doublings else {
            return capMilliseconds
        }
        return baseMilliseconds << doublings
    }

    /// A delay from nothing up to the ceiling; `unit` is a random number in 0..<1.
    package func milliseconds(failures: Int64, unit: Double) -> Int64 {
        Int64(Double(ceiling(failures: failures)) * unit)
    }

    /// The delay, at least what the peer stated, as long as that is no longer than our own longest: a
    /// peer's mistake must not park a row to its end. The jitter comes on top of a stated delay, so that
    /// rows that were told the same do not return together.
    package func milliseconds(failures: Int64, stated: Int64?, unit: Double) -> Int64 {
        let jittered = milliseconds(failures: failures, unit: unit)
        guard let stated, stated > 0 else { return jittered }
        let bounded = min(stated, capMilliseconds)
        return jittered > bounded ? jittered : bounded + Int64(Double(baseMilliseconds) * unit)
    }
}
