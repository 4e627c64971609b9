import Contracts
import DeliveryCore
import Storage

/// Commits outcomes, in one transaction.
struct OutboxSettlement: Sendable {
    /// Milliseconds of the store's clock.
    let now: Int64

    private struct Found {
        var event: Int64
        var row: StoredRow
    }

    func run(
        _ outcomes: [RowOutcome],
        on connection: SQLiteConnection
    ) throws -> ([SettleResult], Int64) {
        var deltas = EventDeltas()
        var ends: [Int64: UnixSeconds] = [:]
        let results = try outcomes.map { outcome -> SettleResult in
            let found = try find(outcome.rowID, ends: &ends, on: connection)
            let transition = RowTransition.of(
                outcome,
                on: found?.row,
                now: UnixMilliseconds(now)
            )
            guard let found else { return .ignored(.unknownRow) }
            switch transition {
            case .ignore(let why):
                return .ignored(why)
            case .end(let state, let reason, let attempts):
                try end(outcome.rowID, state, reason, attempts, on: connection)
                deltas.moved(found.event, from: found.row.state, to: state)
                if let note = outcome.cleanup { try keep(note, outcome.rowID, on: connection) }
                return .ended(state)
            case .wait(let state, let reason, let attempts, let due):
                try wait(outcome.rowID, state, reason, attempts, due, on: connection)
                deltas.moved(found.event, from: found.row.state, to: state)
                deltas.due(found.event, at: due.milliseconds)
                return .waiting
            }
        }
        try deltas.write(to: connection)
        return (results, deltas.open)
    }

    private func find(
        _ rowID: Int64,
        ends: inout [Int64: UnixSeconds],
        on connection: SQLiteConnection
    ) throws -> Found? {
        let row = try connection.first(
            "SELECT event, state, generation, attempts FROM outbox WHERE id = $1",
            [.int(rowID)]
        ) { (event: $0.int(0), state: $0.int(1), generation: $0.int(2), attempts: $0.int(3)) }
        guard let row, let state = StateCode.state(row.state) else { return nil }
        var end = ends[row.event]
        if end == nil {
            end = try connection.first(
                "SELECT expires_at FROM event WHERE id = $1",
                [.int(row.event)]
            ) { UnixSeconds($0.int(0)) }
            ends[row.event] = end
        }
        guard let end else { return nil }
        return Found(
            event: row.event,
            row: StoredRow(
                state: state,
                generation: row.generation,
                attempts: row.attempts,
                expiresAt: end
            )
        )
    }

    private func end(
        _ rowID: Int64,
        _ state: ReceiptState,
        _ reason: String?,
        _ attempts: Int64,
        on connection: SQLiteConnection
    ) throws {
        try connection.execute(
            """
            UPDATE outbox SET state = $2, reason = $3, attempts = $4, claims = 0, updated_at = $5
            WHERE id = $1
            """,
            [
                .int(rowID), .int(StateCode.of(state)), .text(orNull: reason), .int(attempts),
                .int(now),
            ]
        )
        try connection.execute("DELETE FROM envelope WHERE row = $1", [.int(rowID)])
    }

    private func wait(
        _ rowID: Int64,
        _ state: ReceiptState,
        _ reason: String,
        _ attempts: Int64,
        _ due: UnixMilliseconds,
        on connection: SQLiteConnection
    ) throws {
        try connection.execute(
            """
            UPDATE outbox SET state = $2, reason = $3, attempts = $4, claims = 0, due = $5,
                updated_at = $6
            WHERE id = $1
            """,
            [
                .int(rowID), .int(StateCode.of(state)), .text(reason), .int(attempts),
                .int(due.milliseconds), .int(now),
            ]
        )
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
