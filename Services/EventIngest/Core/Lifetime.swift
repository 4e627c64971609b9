import Contracts

/// From when until when an event may still notify somebody.
///
/// The store's clock at commit is the beginning. The end is 1800 s later at most; the event's own
/// time and its `expirytime` may only bring it forward. A time in the future is taken as now.
package struct Lifetime: Hashable, Sendable {
    /// Longest life of a notification, in seconds.
    package static let longestSeconds: Int64 = 1800

    package var createdAt: UnixSeconds
    package var expiresAt: UnixSeconds
    /// When it happened: the event's own time, never later than the commit.
    package var occurredAt: UnixMilliseconds
    /// Set when the event arrived after its end; such an event is recorded and never fanned out.
    package var lateness: Lateness?

    package enum Lateness: String, Codable, Hashable, Sendable {
        case tooOld = "too_old"
        case expirytimePassed = "expirytime_passed"
    }

    package init(
        time: UnixMilliseconds?,
        expirytime: UnixMilliseconds?,
        committedAt now: UnixMilliseconds
    ) {
        createdAt = now.second
        occurredAt = min(time ?? now, now)
        let natural = occurredAt.second.adding(seconds: Self.longestSeconds)
        expiresAt = natural
        if let stated = expirytime?.second, stated < natural { expiresAt = stated }
        if expiresAt <= createdAt {
            lateness = natural <= createdAt ? .tooOld : .expirytimePassed
        }
    }
}
