import Contracts

/// What can be paused as a whole.
package enum PauseScope: Hashable, Sendable {
    case relay
    case provider(APNsEnvironment)
    case topic(APNsEnvironment)
}

/// How many of some messages may be handed over now.
package enum Admission: Hashable, Sendable {
    /// This many, at least one; fewer than asked while the scope recovers or is probed.
    case send(Int)
    /// None for this long.
    case hold(milliseconds: Int64)
}

/// Pauses of relay, provider and topic: one probe at a time, then a ramp.
///
/// Instants are milliseconds of a clock that only moves forward.
package struct ScopePauses: Sendable {
    private struct Pause {
        var until: Int64
        var failures: Int64
        var probeStarted: Int64?
        var reason: String
    }

    private var pauses: [PauseScope: Pause] = [:]
    /// Uncertain failures in a row of scopes that are not paused.
    private var strikes: [PauseScope: Int] = [:]
    /// Messages that may be handed over at a time while a scope recovers.
    private var ramps: [PauseScope: Int] = [:]

    /// A probe without a verdict counts as lost after this long.
    package static let probeLifetimeMilliseconds: Int64 = 30_000
    /// While a probe is out, others look again after this long.
    package static let probeLookMilliseconds: Int64 = 1000
    /// Uncertain failures in a row that pause a scope.
    package static let strikeLimit = 3
    static let firstRamp = 64
    static let lastRamp = 4096

    package init() {}

    /// The scopes that are paused, with reasons.
    package var paused: [PauseScope: String] { pauses.mapValues(\.reason) }

    /// Records trouble of a scope; failures of messages that were under way when the pause began do
    /// not lengthen it, except by a longer stated delay.
    ///
    /// Trouble that is not certain, such as one answer of many, pauses after a few in a row only.
    package mutating func failed(
        _ scope: PauseScope,
        reason: String,
        statedMilliseconds: Int64?,
        isCertain: Bool = true,
        now: Int64,
        unit: Double
    ) {
        if !isCertain && pauses[scope] == nil {
            strikes[scope, default: 0] += 1
            guard strikes[scope, default: 0] >= Self.strikeLimit else { return }
        }
        strikes[scope] = nil
        ramps[scope] = nil
        // A relay knows no better than we how long it takes; a provider may ask for its quarter hour.
        let longest = scope == .relay ? RetryDelay.ordinary : .provider
        let stated = min(statedMilliseconds ?? 0, longest.capMilliseconds)
        var pause =
            pauses[scope] ?? Pause(until: .min, failures: 0, probeStarted: nil, reason: reason)
        if now >= pause.until {
            pause.failures += 1
            let ceiling = Self.delay(of: scope).ceiling(failures: pause.failures)
            let half = ceiling / 2
            pause.until = now + max(stated, half + Int64(Double(half) * unit))
        } else {
            pause.until = max(pause.until, now + stated)
        }
        pause.probeStarted = nil
        pause.reason = reason
        pauses[scope] = pause
    }

    /// Records that a scope works; after a pause it is opened in growing steps.
    package mutating func succeeded(_ scope: PauseScope) {
        strikes[scope] = nil
        if pauses.removeValue(forKey: scope) != nil {
            ramps[scope] = Self.firstRamp
        } else if let ramp = ramps[scope] {
            ramps[scope] = ramp * 2 > Self.lastRamp ? nil : ramp * 2
        }
    }

    /// How many of `count` messages that need all these scopes may go; one that goes while a scope is
    /// paused is its probe.
    package mutating func admit(_ count: Int, for scopes: [PauseScope], now: Int64) -> Admission {
        var allowed = count
        for scope in scopes {
            switch state(of: scope, now: now) {
            case .send(let most): allowed = min(allowed, most)
            case .hold(let milliseconds): return .hold(milliseconds: milliseconds)
            }
        }
        for scope in scopes where pauses[scope] != nil { pauses[scope]?.probeStarted = now }
        return .send(allowed)
    }

    /// Nothing was handed over after ``admit(_:for:now:)`` after all: the next message may probe.
    package mutating func withdraw(_ scope: PauseScope) { pauses[scope]?.probeStarted = nil }

    /// As ``admit(_:for:now:)`` for one scope, without starting a probe.
    package func state(of scope: PauseScope, now: Int64) -> Admission {
        guard let pause = pauses[scope] else { return .send(ramps[scope] ?? .max) }
        if now < pause.until { return .hold(milliseconds: pause.until - now) }
        if let started = pause.probeStarted, now - started < Self.probeLifetimeMilliseconds {
            let rest = Self.probeLifetimeMilliseconds - (now - started)
            return .hold(milliseconds: min(rest, Self.probeLookMilliseconds))
        }
        return .send(1)
    }

    private static func delay(of scope: PauseScope) -> RetryDelay {
        switch scope {
        case .relay: RetryDelay(baseMilliseconds: 1000, capMilliseconds: 15_000)
        case .provider, .topic: .ordinary
        }
    }
}
