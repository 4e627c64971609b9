/// `event.admin.query.v1`: what became of events, newest first; without `event_id` the latest ones.
package struct EventQuery: BusRequest, Hashable {
    package typealias Answer = EventQueryAnswer
    package static let type = "event.admin.query.v1"

    package var eventID: EventID?
    /// At most ``BusLimits/records``.
    package var limit: Int

    package init(eventID: EventID? = nil, limit: Int = 100) {
        self.eventID = eventID
        self.limit = limit
    }

    enum CodingKeys: String, CodingKey {
        case eventID = "event_id"
        case limit
    }

    package func checkBounds() throws(ContractViolation) {
        try BusLimits.checkPage(limit)
    }
}

/// The states of an event that people see.
package enum EventState: String, Codable, CaseIterable, Sendable {
    /// Committed, and not yet fanned out completely.
    case admitted
    case suppressed
    /// Committed, waiting for something that decides about admission.
    case unresolved
    case fannedOut = "fanned_out"
    /// Its time ended before the fan-out was complete.
    case expired
}

package struct EventQueryAnswer: BusMessage, Hashable {
    package static let type = "event.admin.query.answer.v1"

    package struct Event: Codable, Hashable, Sendable {
        package var eventID: EventID
        package var source: String
        package var id: String
        package var category: Category
        package var state: EventState
        package var reason: String?
        package var createdAt: UnixSeconds
        package var expiresAt: UnixSeconds
        /// Outbox rows written for it so far.
        package var written: Int64
        /// Installations left out so far, by reason.
        package var skipped: [String: Int64]

        package init(
            eventID: EventID,
            source: String,
            id: String,
            category: Category,
            state: EventState,
            reason: String? = nil,
            createdAt: UnixSeconds,
            expiresAt: UnixSeconds,
            written: Int64,
            skipped: [String: Int64]
        ) {
            self.eventID = eventID
            self.source = source
            self.id = id
            self.category = category
            self.state = state
            self.reason = reason
            self.createdAt = createdAt
            self.expiresAt = expiresAt
            self.written = written
            self.skipped = skipped
        }

        enum CodingKeys: String, CodingKey {
            case eventID = "event_id"
            case source
            case id
            case category
            case state
            case reason
            case createdAt = "created_at"
            case expiresAt = "expires_at"
            case written
            case skipped
        }
    }

    package var events: [Event]

    package init(events: [Event]) { self.events = events }
}
