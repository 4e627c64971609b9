/// `outbox.admin.retry.v1`: waiting rows become due now; ended ones stay ended, and those that are
/// being sent go on.
package struct OutboxRetry: BusRequest, Hashable {
    package typealias Answer = OutboxRetryAnswer
    package static let type = "outbox.admin.retry.v1"

    package var rows: OutboxSelection
    /// Where the previous page ended; nil for the first.
    package var after: Int64?

    package init(_ rows: OutboxSelection, after: Int64? = nil) {
        self.rows = rows
        self.after = after
    }

    package func checkBounds() throws(ContractViolation) { try rows.checkBounds() }
}

package struct OutboxRetryAnswer: BusMessage, Hashable {
    package static let type = "outbox.admin.retry.answer.v1"

    /// Rows that became due earlier than they were.
    package var advanced: Int64
    /// Pass as `after` for the next page; nil on the last.
    package var next: Int64?

    package init(advanced: Int64, next: Int64?) {
        self.advanced = advanced
        self.next = next
    }
}
