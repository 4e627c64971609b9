/// `event.admin.audit.query.v1`: who changed the policy and when, newest first.
package struct AuditQuery: BusRequest, Hashable {
    package typealias Answer = AuditQueryAnswer
    package static let type = "event.admin.audit.query.v1"

    /// Only changes that came before the one with this number.
    package var before: Int64?
    /// At most ``BusLimits/records``.
    package var limit: Int

    package init(before: Int64? = nil, limit: Int = 100) {
        self.before = before
        self.limit = limit
    }

    package func checkBounds() throws(ContractViolation) {
        try BusLimits.checkPage(limit)
    }
}

package struct AuditQueryAnswer: BusMessage, Hashable {
    package static let type = "event.admin.audit.query.answer.v1"

    package struct Entry: Codable, Hashable, Sendable {
        package var number: Int64
        package var at: UnixSeconds
        package var by: String
        package var key: PolicyKey
        /// What was put in force; nil when the item was removed.
        package var item: PolicyItem?

        package init(
            number: Int64,
            at: UnixSeconds,
            by: String,
            key: PolicyKey,
            item: PolicyItem?
        ) {
            self.number = number
            self.at = at
            self.by = by
            self.key = key
            self.item = item
        }
    }

    package var entries: [Entry]

    package init(entries: [Entry]) { self.entries = entries }
}
