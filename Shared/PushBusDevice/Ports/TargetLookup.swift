/// Whether the target of a notification still exists; the app asks its own server, and answers for
/// exactly the target it was asked for.
package protocol TargetLookup: Sendable {
    func look(for destination: TapTarget.Destination) async -> TargetAnswer
}

/// What a lookup found.
package enum TargetAnswer: Hashable, Sendable {
    /// It is there; the destination says what the server has under that name, so that a newer cycle
    /// of an alert is not taken for the one that was asked for.
    case available(TapTarget.Destination)
    /// Deleted or overwritten.
    case gone
    case forbidden
    /// No answer now.
    case unreachable
}
