/// Waiting times between attempts: doubling up to a cap, with full jitter.
package struct Backoff: Hashable, Sendable {
    /// The longest wait after the first failure.
    package let base: Duration
    /// The longest wait after any number of failures.
    package let cap: Duration

    /// Both must be above zero; a base above the cap is held at the cap.
    package init(base: Duration = .seconds(1), cap: Duration = .seconds(240)) {
        precondition(base > .zero && cap > .zero, "a backoff waits for some time")
        self.base = base
        self.cap = cap
    }

    /// The longest wait after that many earlier failures (0 for the first one).
    package func ceiling(attempt: Int) -> Duration {
        let capNanoseconds = cap.clampedNanoseconds
        let baseNanoseconds = base.clampedNanoseconds
        let doublings = max(0, attempt)
        // 62 doublings exceed any cap an Int64 of nanoseconds can hold.
        guard doublings < 62, baseNanoseconds <= capNanoseconds >> Int64(doublings) else {
            return .nanoseconds(capNanoseconds)
        }
        return .nanoseconds(baseNanoseconds << Int64(doublings))
    }

    /// A wait between zero and the ceiling, all equally likely.
    package func delay(attempt: Int, random: RandomSource) -> Duration {
        let ceiling = ceiling(attempt: attempt).clampedNanoseconds
        return .nanoseconds(Int64(random.uniform(below: UInt64(ceiling) + 1)))
    }
}
