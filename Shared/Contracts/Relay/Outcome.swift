/// What became of one attempt.
package enum Outcome: String, Codable, Hashable, CaseIterable, Sendable {
    case accepted
    case retryable
    case permanent
    case expired
}

/// What a verdict is about, and so what else must wait or stop.
package enum VerdictScope: String, Codable, Hashable, CaseIterable, Sendable {
    case message
    case device
    case connection
    case topic
    case provider
    /// The relay itself: busy, rate limited, not configured or not reached.
    case relay
}

/// Whether a request may have reached the provider, which decides if it counts as an attempt.
package enum Exposure: String, Codable, Hashable, CaseIterable, Sendable {
    /// Provably not processed: refused, never written, held back.
    case none
    /// The provider answered.
    case answered
    /// Written without an answer: it may have been accepted.
    case ambiguous
}
