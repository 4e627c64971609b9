/// `outbox.admin.cancel.v1`: rows that nobody is sending end as permanent with the reason `Cancelled`.
package struct OutboxCancel: BusRequest, Hashable {
    package typealias Answer = OutboxCancelAnswer
    package static let type = "outbox.admin.cancel.v1"

    package var rows: OutboxSelection
    /// Where the previous page ended; nil for the first.
    package var after: Int64?

    package init(_ rows: OutboxSelection, after: Int64? = nil) {
        self.rows = rows
        self.after = after
    }

    package func checkBounds() throws(ContractViolation) { try rows.checkBounds() }
}

package struct OutboxCancelAnswer: BusMessage, Hashable {
    package static let type = "outbox.admin.cancel.answer.v1"

    package var cancelled: Int64
    /// Rows left alone because a worker is sending them.
    package var held: Int64
    /// Pass as `after` for the next page; nil on the last.
    package var next: Int64?

    package init(cancelled: Int64, held: Int64, next: Int64?) {
        self.cancelled = cancelled
        self.held = held
        self.next = next
    }
}
