/// Holds messages back while the operator or the provider must mend something, and lets one probe
/// through at a time.
package struct Breaker: Hashable, Sendable {
    package enum Admission: Hashable, Sendable {
        case pass
        /// Go, and report how it went: others are held until then.
        case probe
        case hold(reason: String, retryAfterMilliseconds: Int64)
    }

    private enum State: Hashable, Sendable {
        case closed
        case open(reason: String, until: Int64, failures: Int)
        case probing(reason: String, until: Int64, failures: Int)
    }

    /// First wait, doubled with every failed probe.
    package let baseMilliseconds: Int64
    package let capMilliseconds: Int64
    /// A probe that reports nothing for this long is given up.
    package let probeMilliseconds: Int64
    private var state = State.closed

    package init(
        baseMilliseconds: Int64 = 30_000,
        capMilliseconds: Int64 = 300_000,
        probeMilliseconds: Int64 = 15_000
    ) {
        self.baseMilliseconds = baseMilliseconds
        self.capMilliseconds = capMilliseconds
        self.probeMilliseconds = probeMilliseconds
    }

    /// Whether anything but a probe is held.
    package var isOpen: Bool { state != .closed }

    /// What would be held now, without taking the place of a probe.
    package func held(at now: Int64) -> (reason: String, retryAfterMilliseconds: Int64)? {
        switch state {
        case .closed: nil
        case .open(let reason, let until, _), .probing(let reason, let until, _):
            now < until ? (reason, until - now) : nil
        }
    }

    /// Asks for one message; a probe must be followed by ``succeeded()``, ``failed(reason:at:)`` or
    /// ``inconclusive(at:)``.
    package mutating func admit(at now: Int64) -> Admission {
        switch state {
        case .closed: return .pass
        case .open(let reason, let until, let failures),
            .probing(let reason, let until, let failures):
            if now < until {
                return .hold(reason: reason, retryAfterMilliseconds: until - now)
            }
            state = .probing(reason: reason, until: now + probeMilliseconds, failures: failures)
            return .probe
        }
    }

    /// The provider took a message: everything may pass again.
    package mutating func succeeded() { state = .closed }

    /// The provider refused again or for the first time; returns the wait.
    @discardableResult
    package mutating func failed(reason: String, at now: Int64) -> Int64 {
        switch state {
        case .closed:
            state = .open(reason: reason, until: now + baseMilliseconds, failures: 1)
            return baseMilliseconds
        case .open(_, let until, _) where now < until:
            // Answers to what was under way when it opened say nothing new.
            return until - now
        case .open(_, _, let failures), .probing(_, _, let failures):
            let wait = min(capMilliseconds, baseMilliseconds << Int64(min(failures, 20)))
            state = .open(reason: reason, until: now + wait, failures: failures + 1)
            return wait
        }
    }

    /// The probe got no answer that tells; the next message may probe at once.
    package mutating func inconclusive(at now: Int64) {
        guard case .probing(let reason, _, let failures) = state else { return }
        state = .open(reason: reason, until: now, failures: failures)
    }
}
