import Contracts

/// What became of a test notification; whether the phone showed it, no server can tell.
package struct PushTestOutcome: Codable, Hashable, Sendable {
    package var eventID: EventID
    /// `pending`, or one of the relay's four outcomes.
    package var outcome: String
    package var reason: String?
    /// Always `unobserved`.
    package var presentation: String

    enum CodingKeys: String, CodingKey {
        case eventID = "event_id"
        case outcome
        case reason
        case presentation
    }

    /// Whether the outcome will not change any more.
    package var isFinal: Bool {
        ["accepted", "permanent", "expired"].contains(outcome)
    }
}
