/// `outbox.admin.purge.v1`: removes some receipts of events that ended long enough ago; asked again
/// until none is left.
package struct OutboxPurge: BusRequest, Hashable {
    package typealias Answer = OutboxPurgeAnswer
    package static let type = "outbox.admin.purge.v1"

    /// A repeated hand-off must find its row, or it would begin a new life: a day past expiry.
    package static let leastSeconds: Int64 = 86_400

    /// Seconds since the end of the event, at least ``leastSeconds``.
    package var olderThanSeconds: Int64

    package init(olderThanSeconds: Int64) { self.olderThanSeconds = olderThanSeconds }

    enum CodingKeys: String, CodingKey {
        case olderThanSeconds = "older_than_s"
    }

    package func checkBounds() throws(ContractViolation) {
        try ContractViolation.check(
            (Self.leastSeconds...1_000_000_000).contains(olderThanSeconds),
            "/older_than_s",
            "must be \(Self.leastSeconds) to 1000000000"
        )
    }
}

package struct OutboxPurgeAnswer: BusMessage, Hashable {
    package static let type = "outbox.admin.purge.answer.v1"

    /// Receipts removed by this request; 0 when none is old enough any more.
    package var removed: Int64

    package init(removed: Int64) { self.removed = removed }
}
