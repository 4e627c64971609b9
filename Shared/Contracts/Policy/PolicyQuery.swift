/// `event.admin.policy.query.v1`: the items of one kind that are in force, in the order of their ids.
package struct PolicyQuery: BusRequest, Hashable {
    package typealias Answer = PolicyQueryAnswer
    package static let type = "event.admin.policy.query.v1"

    package var kind: PolicyKind
    /// Only items whose ids come after this one.
    package var after: String?
    /// At most ``BusLimits/records``.
    package var limit: Int

    package init(kind: PolicyKind, after: String? = nil, limit: Int = 100) {
        self.kind = kind
        self.after = after
        self.limit = limit
    }

    package func checkBounds() throws(ContractViolation) {
        try BusLimits.checkPage(limit)
    }
}

package struct PolicyQueryAnswer: BusMessage, Hashable {
    package static let type = "event.admin.policy.query.answer.v1"

    package struct Entry: Codable, Hashable, Sendable {
        package var item: PolicyItem
        package var changedAt: UnixSeconds
        package var changedBy: String

        package init(item: PolicyItem, changedAt: UnixSeconds, changedBy: String) {
            self.item = item
            self.changedAt = changedAt
            self.changedBy = changedBy
        }

        enum CodingKeys: String, CodingKey {
            case item
            case changedAt = "changed_at"
            case changedBy = "changed_by"
        }
    }

    package var entries: [Entry]
    /// Whether further items come after the last one.
    package var more: Bool

    package init(entries: [Entry], more: Bool) {
        self.entries = entries
        self.more = more
    }
}
