/// `outbox.admin.status.v1`: how full the outbox is.
package struct OutboxStatus: BusRequest, Hashable {
    package typealias Answer = OutboxStatusAnswer
    package static let type = "outbox.admin.status.v1"
    package init() {}
}

package struct OutboxStatusAnswer: BusMessage, Hashable {
    package static let type = "outbox.admin.status.answer.v1"

    package struct StateCount: Codable, Hashable, Sendable {
        package var state: ReceiptState
        package var rows: Int64
        /// When the oldest row of the state was created; nil when there is none.
        package var oldestAt: UnixSeconds?

        package init(state: ReceiptState, rows: Int64, oldestAt: UnixSeconds?) {
            self.state = state
            self.rows = rows
            self.oldestAt = oldestAt
        }

        enum CodingKeys: String, CodingKey {
            case state
            case rows
            case oldestAt = "oldest_at"
        }
    }

    package var states: [StateCount]
    /// Clean-ups that Registration has not acknowledged yet.
    package var cleanupsWaiting: Int64

    package init(states: [StateCount], cleanupsWaiting: Int64) {
        self.states = states
        self.cleanupsWaiting = cleanupsWaiting
    }

    enum CodingKeys: String, CodingKey {
        case states
        case cleanupsWaiting = "cleanups_waiting"
    }
}
