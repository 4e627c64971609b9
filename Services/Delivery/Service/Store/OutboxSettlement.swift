import Contracts
import DeliveryCore
import Storage

/// Commits outcomes, in one transaction.
///
/// Rows are read and written a run of neighbouring row numbers at a time: what was inserted together
/// mostly ends together and alike, and a statement a run costs far less than one a row.
struct OutboxSettlement: Sendable {
    /// Milliseconds of the store's clock.
    let now: Int64

    private struct Found {
        var event: Int64
        var row: StoredRow
    }

    /// What becomes of a row; equal for rows that one statement can write.
    private struct Change: Equatable {
        var state: ReceiptState
        var reason: String?
        var attempts: Int64
        /// Of a row that waits.
        var due: Int64?
    }

    func run(
        _ outcomes: [RowOutcome],
        on connection: SQLiteConnection
    ) throws -> ([SettleResult], Int64) {
        var rows = try find(outcomes.map(\.rowID), on: connection)
        var deltas = EventDeltas()
        var changes: [Int64: Change] = [:]
        changes.reserveCapacity(outcomes.count)
        var cleanups: [(rowID: Int64, note: CleanupNote)] = []
        let results = outcomes.map { outcome -> SettleResult in
            let found = rows[outcome.rowID]
            let transition = RowTransition.of(
                outcome,
                on: found?.row,
                now: UnixMilliseconds(now)
            )
            guard let found else { return .ignored(.unknownRow) }
            let change: Change
            switch transition {
            case .ignore(let why):
                return .ignored(why)
            case .end(let state, let reason, let attempts):
                change = Change(state: state, reason: reason, attempts: attempts)
                if let note = outcome.cleanup { cleanups.append((outcome.rowID, note)) }
            case .wait(let state, let reason, let attempts, let due):
                change = Change(
                    state: state,
                    reason: reason,
                    attempts: attempts,
                    due: due.milliseconds
                )
                deltas.due(found.event, at: due.milliseconds)
            }
            deltas.moved(found.event, from: found.row.state, to: change.state)
            // A second outcome of the same row meets what the first made of it.
            rows[outcome.rowID]?.row.state = change.state
            rows[outcome.rowID]?.row.attempts = change.attempts
            changes[outcome.rowID] = change
            return change.state.isTerminal ? .ended(change.state) : .waiting
        }
        try write(changes, on: connection)
        for (rowID, note) in cleanups { try keep(note, rowID, on: connection) }
        try deltas.write(to: connection)
        return (results, deltas.open)
    }

    private func find(
        _ rowIDs: [Int64],
        on connection: SQLiteConnection
    ) throws -> [Int64: Found] {
        let select = try connection.prepare(
            "SELECT id, event, state, generation, attempts FROM outbox WHERE id BETWEEN $1 AND $2"
        )
        var rows: [Int64: Found] = [:]
        rows.reserveCapacity(rowIDs.count)
        var ends: [Int64: UnixSeconds] = [:]
        for run in RowRuns(rowIDs.sorted()) {
            try select.forEach([.int(run.lowerBound), .int(run.upperBound)]) { row in
                let event = row.int(1)
                guard
                    let state = StateCode.state(row.int(2)),
                    let end = try ends[event] ?? end(of: event, on: connection)
                else { return true }
                ends[event] = end
                rows[row.int(0)] = Found(
                    event: event,
                    row: StoredRow(
                        state: state,
                        generation: row.int(3),
                        attempts: row.int(4),
                        expiresAt: end
                    )
                )
                return true
            }
        }
        return rows
    }

    private func end(of event: Int64, on connection: SQLiteConnection) throws -> UnixSeconds? {
        try connection.first("SELECT expires_at FROM event WHERE id = $1", [.int(event)]) {
            UnixSeconds($0.int(0))
        }
    }

    private func write(_ changes: [Int64: Change], on connection: SQLiteConnection) throws {
        let update = try connection.prepare(
            """
            UPDATE outbox SET state = $3, reason = $4, attempts = $5, claims = 0,
                due = ifnull($6, due), updated_at = $7
            WHERE id BETWEEN $1 AND $2
            """
        )
        let erase = try connection.prepare("DELETE FROM envelope WHERE row BETWEEN $1 AND $2")
        for run in RowRuns(changes.keys.sorted(), isAlike: { changes[$0] == changes[$1] }) {
            guard let change = changes[run.lowerBound] else { continue }
            let range: [SQLValue] = [.int(run.lowerBound), .int(run.upperBound)]
            try update.run(
                range + [
                    .int(StateCode.of(change.state)), .text(orNull: change.reason),
                    .int(change.attempts), .int(orNull: change.due), .int(now),
                ]
            )
            if change.state.isTerminal { try erase.run(range) }
        }
    }

    private func keep(
        _ note: CleanupNote,
        _ rowID: Int64,
        on connection: SQLiteConnection
    ) throws {
        try connection.execute(
            """
            INSERT INTO cleanup
                (row, installation, binding, token_hash, kind, apns_timestamp, confirmed_at)
            SELECT id, installation, binding, $2, $3, $4, $5 FROM outbox WHERE id = $1
            ON CONFLICT (row) DO NOTHING
            """,
            [
                .int(rowID), .blob(note.tokenHash.bytes), .text(note.kind.rawValue),
                .int(orNull: note.apnsTimestamp?.milliseconds), .int(note.confirmedAt.milliseconds),
            ]
        )
    }
}
