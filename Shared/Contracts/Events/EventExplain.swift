/// `event.admin.explain.v1`: everything EventIngest still knows about one event, by its identifier or
/// by what its producer called it.
package struct EventExplain: BusRequest, Hashable {
    package typealias Answer = EventExplainAnswer
    package static let type = "event.admin.explain.v1"

    package var eventID: EventID?
    /// With ``id``, in place of the identifier.
    package var source: String?
    package var id: String?

    package init(eventID: EventID) { self.eventID = eventID }

    package init(source: String, id: String) {
        self.source = source
        self.id = id
    }

    enum CodingKeys: String, CodingKey {
        case eventID = "event_id"
        case source
        case id
    }

    package func checkBounds() throws(ContractViolation) {
        let isNamed = source != nil && id != nil
        let isOneOfBoth = (eventID != nil) != isNamed && (source == nil) == (id == nil)
        try ContractViolation.check(isOneOfBoth, "", "needs event_id, or source and id")
    }
}

/// What is known; without any part it was never published, or long enough ago to be forgotten.
package struct EventExplainAnswer: BusMessage, Hashable {
    package static let type = "event.admin.explain.answer.v1"

    /// Most entries of ``receptions``.
    package static let receptions = 32

    /// One publish under one source and id.
    package struct Reception: Codable, Hashable, Sendable {
        package var source: String
        package var id: String
        /// `admitted`, `duplicate`, `expired`, `suppressed`, `noted` or `unresolved`.
        package var verdict: String
        package var receivedAt: UnixSeconds

        package init(source: String, id: String, verdict: String, receivedAt: UnixSeconds) {
            self.source = source
            self.id = id
            self.verdict = verdict
            self.receivedAt = receivedAt
        }

        enum CodingKeys: String, CodingKey {
            case source
            case id
            case verdict
            case receivedAt = "received_at"
        }
    }

    /// How the event stands besides its state and counts.
    package struct Course: Codable, Hashable, Sendable {
        /// When the happening was, as far as its producer said.
        package var occurredAt: UnixMilliseconds
        /// The integrator that published it; nil for a process of the trusted directory.
        package var publisher: String?
        /// Registration's counter, once it is known: later registrations are no recipients.
        package var watermark: Int64?
        /// The last installation whose row is committed.
        package var cursor: InstallationID?
        /// When it is handed out, or has to be reported on; nil when it is neither due nor out.
        package var turnAt: UnixMilliseconds?
        /// The event whose end it waits for: the trigger of a recovery, or an older detection.
        package var waitsFor: EventID?
        /// Among whom recipients are looked for, while the event is open.
        package var audience: Audience?

        package init(
            occurredAt: UnixMilliseconds,
            publisher: String? = nil,
            watermark: Int64? = nil,
            cursor: InstallationID? = nil,
            turnAt: UnixMilliseconds? = nil,
            waitsFor: EventID? = nil,
            audience: Audience? = nil
        ) {
            self.occurredAt = occurredAt
            self.publisher = publisher
            self.watermark = watermark
            self.cursor = cursor
            self.turnAt = turnAt
            self.waitsFor = waitsFor
            self.audience = audience
        }

        enum CodingKeys: String, CodingKey {
            case occurredAt = "occurred_at_ms"
            case publisher
            case watermark
            case cursor
            case turnAt = "turn_at_ms"
            case waitsFor = "waits_for"
            case audience
        }
    }

    /// How a task run stands that has no summary yet, or had one.
    package struct Run: Codable, Hashable, Sendable {
        package var isDone: Bool
        /// How many targets it has; nil before its start is known, and once it is done.
        package var targets: Int64?
        /// How many of them have their final result.
        package var finished: Int64

        package init(isDone: Bool, targets: Int64?, finished: Int64) {
            self.isDone = isDone
            self.targets = targets
            self.finished = finished
        }

        enum CodingKeys: String, CodingKey {
            case isDone = "done"
            case targets
            case finished
        }
    }

    package var eventID: EventID?
    /// Oldest first, at most ``receptions``.
    package var receptions: [Reception]
    /// The notification that it became, with state and counts.
    package var event: EventQueryAnswer.Event?
    package var course: Course?
    package var run: Run?

    package init(
        eventID: EventID?,
        receptions: [Reception] = [],
        event: EventQueryAnswer.Event? = nil,
        course: Course? = nil,
        run: Run? = nil
    ) {
        self.eventID = eventID
        self.receptions = receptions
        self.event = event
        self.course = course
        self.run = run
    }

    enum CodingKeys: String, CodingKey {
        case eventID = "event_id"
        case receptions
        case event
        case course
        case run
    }
}
