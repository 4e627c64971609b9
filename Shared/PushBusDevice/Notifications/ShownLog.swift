import Contracts

/// What this phone has shown, to keep repeats and outdated states silent and to serve late taps.
///
/// Bounded: entries go 30 days after their event's expiry, and the oldest go first beyond the limit.
package struct ShownLog: Codable, Hashable, Sendable {
    /// Most events that are remembered.
    package static let limit = 1024
    /// Seconds for which an event is remembered after it expired: a notification may lie in the
    /// notification centre for weeks before somebody taps it.
    package static let retentionSeconds: Int64 = 30 * 86_400

    package struct Entry: Codable, Hashable, Sendable {
        package var eventID: EventID
        package var createdAt: UnixSeconds
        package var expiresAt: UnixSeconds
        package var alertKey: String?
        package var status: AlertContent.Status?
        package var target: TapTarget?

        enum CodingKeys: String, CodingKey {
            case eventID = "event_id"
            case createdAt = "created_at"
            case expiresAt = "expires_at"
            case alertKey = "alert_key"
            case status
            case target
        }
    }

    /// In the order they were shown.
    package private(set) var entries: [Entry] = []

    package init() {}

    /// Whether the event was shown before.
    package func contains(_ eventID: EventID) -> Bool {
        entries.contains { $0.eventID == eventID }
    }

    /// Whether a newer state of the same alert was shown: one that was created later, in this cycle or
    /// in a later one of the same rule, server and dimension, or the recovery of the same second.
    package func hasNewer(than plaintext: EnvelopePlaintext) -> Bool {
        guard case .alert(let alert) = plaintext.content else { return false }
        let subject = AlertKey(alert.alertKey)?.subject
        return entries.contains { entry in
            guard let shownKey = entry.alertKey else { return false }
            let isSameCycle = shownKey == alert.alertKey
            guard isSameCycle || subject != nil && AlertKey(shownKey)?.subject == subject else {
                return false
            }
            if entry.createdAt != plaintext.createdAt {
                return entry.createdAt > plaintext.createdAt
            }
            return isSameCycle && entry.status == .resolved && alert.status == .firing
        }
    }

    /// The authenticated target of an event that was shown, for a tap that comes late.
    package func target(of eventID: EventID) -> TapTarget? {
        entries.last { $0.eventID == eventID }?.target
    }

    /// Remembers an event as shown.
    package mutating func record(_ plaintext: EnvelopePlaintext, at now: UnixSeconds) {
        entries.removeAll {
            $0.eventID == plaintext.eventID
                || now > $0.expiresAt.adding(seconds: Self.retentionSeconds)
        }
        var entry = Entry(
            eventID: plaintext.eventID,
            createdAt: plaintext.createdAt,
            expiresAt: plaintext.expiresAt,
            target: TapTarget(of: plaintext)
        )
        if case .alert(let alert) = plaintext.content {
            entry.alertKey = alert.alertKey
            entry.status = alert.status
        }
        entries.append(entry)
        if entries.count > Self.limit { entries.removeFirst(entries.count - Self.limit) }
    }
}
