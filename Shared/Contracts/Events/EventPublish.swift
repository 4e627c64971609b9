/// `event.publish.v1`: one CloudEvents 1.0 event or a batch of them, in structured JSON.
///
/// The body is the event object or the array itself, as a bare single frame would carry it; it stays
/// loosely typed here so that EventIngest can answer each event with a pointer to what is wrong.
package struct EventPublish: BusRequest, Hashable {
    package typealias Answer = EventPublishAnswer
    package static let type = "event.publish.v1"

    package var events: [JSONValue]
    /// Whether the body was an array, also of one event.
    package var isBatch: Bool

    package init(events: [JSONValue], isBatch: Bool = true) {
        self.events = events
        self.isBatch = isBatch
    }

    package init(from decoder: any Decoder) throws {
        let body = try JSONValue(from: decoder)
        if case .array(let events) = body {
            self.init(events: events, isBatch: true)
        } else {
            self.init(events: [body], isBatch: false)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        if !isBatch, let only = events.first, events.count == 1 {
            try only.encode(to: encoder)
        } else {
            try JSONValue.array(events).encode(to: encoder)
        }
    }

    package func checkBounds() throws(ContractViolation) {
        try ContractViolation.check(
            events.count <= BusLimits.records,
            "",
            "holds more than \(BusLimits.records) events"
        )
    }
}

/// What became of one published event.
package enum PublishStatus: String, Codable, Sendable {
    /// Committed; it survives a crash from here on.
    case accepted
    /// Committed before: the same source, id and content.
    case duplicate
    /// The same source and id with other content: refused.
    case conflict
    case invalid
    case retryAfter = "retry_after"
}

/// One answer for each event, in the order of the request.
package struct EventPublishAnswer: BusMessage, Hashable {
    package static let type = "event.publish.answer.v1"

    package struct Result: Codable, Hashable, Sendable {
        package var status: PublishStatus
        /// The stable identity of the logical event, where one was admitted or recorded.
        package var eventID: EventID?
        /// JSON pointer into this event, for `invalid`.
        package var pointer: String?
        package var reason: String?
        package var retryAfterMilliseconds: Int64?

        package init(
            _ status: PublishStatus,
            eventID: EventID? = nil,
            pointer: String? = nil,
            reason: String? = nil,
            retryAfterMilliseconds: Int64? = nil
        ) {
            self.status = status
            self.eventID = eventID
            self.pointer = pointer
            self.reason = reason
            self.retryAfterMilliseconds = retryAfterMilliseconds
        }

        enum CodingKeys: String, CodingKey {
            case status
            case eventID = "event_id"
            case pointer
            case reason
            case retryAfterMilliseconds = "retry_after_ms"
        }
    }

    package var results: [Result]

    package init(results: [Result]) { self.results = results }
}
