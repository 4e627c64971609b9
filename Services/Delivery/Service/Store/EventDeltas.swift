import Contracts
import Storage

/// Changes of the counters of events within one transaction, written once per event.
struct EventDeltas {
    struct Delta {
        var open: Int64 = 0
        var retryable: Int64 = 0
        var ended: [ReceiptState: Int64] = [:]
        var turn: Int64?
    }

    private(set) var deltas: [Int64: Delta] = [:]
    /// Change of open rows over all events.
    private(set) var open: Int64 = 0

    /// Records that a row went from one state to another; nil as the former state is a new row.
    mutating func moved(_ event: Int64, from old: ReceiptState?, to new: ReceiptState) {
        var delta = deltas[event] ?? Delta()
        if let old {
            delta.open -= 1
            open -= 1
            if old == .retryable { delta.retryable -= 1 }
        }
        if new.isTerminal {
            delta.ended[new, default: 0] += 1
        } else {
            delta.open += 1
            open += 1
            if new == .retryable { delta.retryable += 1 }
        }
        deltas[event] = delta
    }

    /// Records that a row of the event is due at this time.
    mutating func due(_ event: Int64, at due: Int64) {
        deltas[event, default: Delta()].turn = min(deltas[event]?.turn ?? .max, due)
    }

    /// Writes all changes.
    func write(to connection: SQLiteConnection) throws {
        let update = try connection.prepare(
            """
            UPDATE event SET open = open + $2, retryable = retryable + $3, accepted = accepted + $4,
                permanent = permanent + $5, expired = expired + $6, turn = min(turn, $7)
            WHERE id = $1
            """
        )
        for (event, delta) in deltas {
            try update.run([
                .int(event), .int(delta.open), .int(delta.retryable),
                .int(delta.ended[.accepted] ?? 0), .int(delta.ended[.permanent] ?? 0),
                .int(delta.ended[.expired] ?? 0), .int(delta.turn ?? .max),
            ])
        }
    }
}
