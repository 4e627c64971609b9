/// The states of an outbox row.
package enum ReceiptState: String, Codable, CaseIterable, Sendable {
    /// Before the first attempt.
    case pending
    case retryable
    case accepted
    case permanent
    case expired

    /// Whether the row has ended.
    package var isTerminal: Bool { self == .accepted || self == .permanent || self == .expired }
}

/// `receipt.query.v1`: the receipts of an event, of an installation, or in a state, oldest first.
package struct ReceiptQuery: BusRequest, Hashable {
    package typealias Answer = ReceiptQueryAnswer
    package static let type = "receipt.query.v1"

    package var eventID: EventID?
    package var installationID: InstallationID?
    package var state: ReceiptState?
    /// Where the previous page ended; nil for the first.
    package var after: Int64?
    /// At most ``BusLimits/records``.
    package var limit: Int

    package init(
        eventID: EventID? = nil,
        installationID: InstallationID? = nil,
        state: ReceiptState? = nil,
        after: Int64? = nil,
        limit: Int = BusLimits.records
    ) {
        self.eventID = eventID
        self.installationID = installationID
        self.state = state
        self.after = after
        self.limit = limit
    }

    enum CodingKeys: String, CodingKey {
        case eventID = "event_id"
        case installationID = "installation_id"
        case state
        case after
        case limit
    }

    package func checkBounds() throws(ContractViolation) {
        try BusLimits.checkPage(limit)
    }
}

/// What is known of each row. A receipt holds no content, no key and no token.
package struct ReceiptQueryAnswer: BusMessage, Hashable {
    package static let type = "receipt.query.answer.v1"

    package struct Receipt: Codable, Hashable, Sendable {
        package var eventID: EventID
        package var installationID: InstallationID
        package var category: Category
        package var state: ReceiptState
        package var reason: String?
        /// Requests that may have reached the provider.
        package var attempts: Int64
        package var createdAt: UnixSeconds
        package var expiresAt: UnixSeconds
        /// When the state was committed.
        package var updatedAt: UnixMilliseconds
        /// When the next attempt is due; nil for ended rows.
        package var nextAttemptAt: UnixMilliseconds?

        package init(
            eventID: EventID,
            installationID: InstallationID,
            category: Category,
            state: ReceiptState,
            reason: String?,
            attempts: Int64,
            createdAt: UnixSeconds,
            expiresAt: UnixSeconds,
            updatedAt: UnixMilliseconds,
            nextAttemptAt: UnixMilliseconds?
        ) {
            self.eventID = eventID
            self.installationID = installationID
            self.category = category
            self.state = state
            self.reason = reason
            self.attempts = attempts
            self.createdAt = createdAt
            self.expiresAt = expiresAt
            self.updatedAt = updatedAt
            self.nextAttemptAt = nextAttemptAt
        }

        enum CodingKeys: String, CodingKey {
            case eventID = "event_id"
            case installationID = "installation_id"
            case category
            case state
            case reason
            case attempts
            case createdAt = "created_at"
            case expiresAt = "expires_at"
            case updatedAt = "updated_at_ms"
            case nextAttemptAt = "next_attempt_at_ms"
        }
    }

    package var receipts: [Receipt]
    /// Pass as `after` for the next page; nil on the last.
    package var next: Int64?

    package init(receipts: [Receipt], next: Int64?) {
        self.receipts = receipts
        self.next = next
    }
}
