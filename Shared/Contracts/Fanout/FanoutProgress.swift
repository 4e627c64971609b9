/// `fanout.progress.v1`: the contiguous prefix of the audience whose rows Delivery has committed.
///
/// EventIngest commits it only if `from` is its stored cursor, so a late or repeated report of one
/// Fanout cannot move another's work.
package struct FanoutProgress: BusRequest, Hashable {
    package typealias Answer = FanoutProgressAnswer
    package static let type = "fanout.progress.v1"

    package enum State: String, Codable, Sendable {
        /// Another page follows.
        case more
        /// The audience is complete.
        case done
        /// Given back: hand the event out again after `delay_ms`.
        case back
    }

    package var eventID: EventID
    package var from: InstallationID?
    package var to: InstallationID?
    /// Rows written between `from` and `to`; rows that were there already count too.
    package var written: Int64
    /// Installations left out between `from` and `to`, by reason.
    package var skipped: [String: Int64]
    package var state: State
    package var delayMilliseconds: Int64?

    package init(
        eventID: EventID,
        from: InstallationID?,
        to: InstallationID?,
        written: Int64,
        skipped: [String: Int64],
        state: State,
        delayMilliseconds: Int64? = nil
    ) {
        self.eventID = eventID
        self.from = from
        self.to = to
        self.written = written
        self.skipped = skipped
        self.state = state
        self.delayMilliseconds = delayMilliseconds
    }

    enum CodingKeys: String, CodingKey {
        case eventID = "event_id"
        case from
        case to
        case written
        case skipped
        case state
        case delayMilliseconds = "delay_ms"
    }

    package func checkBounds() throws(ContractViolation) {
        try ContractViolation.check(written >= 0, "/written", "must not be negative")
        try ContractViolation.check(
            skipped.values.allSatisfy { $0 >= 0 },
            "/skipped",
            "must hold no negative count"
        )
    }
}

/// The cursor as EventIngest has it now. A Fanout that is not there drops the event.
package struct FanoutProgressAnswer: BusMessage, Hashable {
    package static let type = "fanout.progress.answer.v1"

    package var eventID: EventID
    package var cursor: InstallationID?
    /// False when the event has ended (fanned out, expired) or is unknown.
    package var isOpen: Bool

    package init(eventID: EventID, cursor: InstallationID?, isOpen: Bool) {
        self.eventID = eventID
        self.cursor = cursor
        self.isOpen = isOpen
    }

    enum CodingKeys: String, CodingKey {
        case eventID = "event_id"
        case cursor
        case isOpen = "open"
    }
}
