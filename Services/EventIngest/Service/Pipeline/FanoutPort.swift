/// Where admitted events go: one of the Fanouts.
package protocol FanoutPort: Sendable {
    /// Hands an event to one Fanout and returns whether it took it.
    func hand(_ order: HandoffOrder) async -> HandoffResult
}

/// What a Fanout said to an event.
package enum HandoffResult: Hashable, Sendable {
    case taken
    /// It has no room and asks for a pause.
    case busy(delayMilliseconds: Int64)
    /// Nobody answered in time; perhaps somebody took it.
    case silent
    /// It cannot be taken as it is: a fault of one of the two programs.
    case refused(String)
    /// This process stops.
    case stopped
}
