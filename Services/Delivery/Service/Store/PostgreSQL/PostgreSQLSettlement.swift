import Contracts
import DeliveryCore
import Storage

/// Commits outcomes, in one transaction.
struct PostgreSQLSettlement: Sendable {
    let outcomes: [RowOutcome]

    private struct Found {
        var event: Int64
        var row: StoredRow
    }

    /// What is written to a row; nil as due time leaves it as it is.
    private struct Change {
        var state: ReceiptState
        var reason: String?
        var attempts: Int64
        var due: Int64?
    }

    func run(
        now: Int64,
        on connection: PostgreSQLConnection
    ) throws -> ([SettleResult], Int64) {
        var rows = try lock(on: connection)
        var changes: [Int64: Change] = [:]
        var notes: [(Int64, CleanupNote)] = []
        var deltas = EventDeltas()
        let results = outcomes.map { outcome -> SettleResult in
            let found = rows[outcome.rowID]
            let transition = RowTransition.of(outcome, on: found?.row, now: UnixMilliseconds(now))
            guard let found else { return .ignored(.unknownRow) }
            switch transition {
            case .ignore(let why):
                return .ignored(why)
            case .end(let state, let reason, let attempts):
                let change = Change(state: state, reason: reason, attempts: attempts)
                changes[outcome.rowID] = change
                deltas.moved(found.event, from: found.row.state, to: state)
                if let note = outcome.cleanup { notes.append((outcome.rowID, note)) }
                rows[outcome.rowID]?.row.state = state
                return .ended(state)
            case .wait(let state, let reason, let attempts, let due):
                changes[outcome.rowID] = Change(
                    state: state,
                    reason: reason,
                    attempts: attempts,
                    due: due.milliseconds
                )
                deltas.moved(found.event, from: found.row.state, to: state)
                deltas.due(found.event, at: due.milliseconds)
                rows[outcome.rowID]?.row.state = state
                rows[outcome.rowID]?.row.attempts = attempts
                return .waiting
            }
        }
        try write(changes, now: now, on: connection)
        try keep(notes, on: connection)
        try deltas.write(to: connection)
        return (results, deltas.open)
    }

    /// In the order of row numbers, so that settlements that meet do not wait in a circle.
    private func lock(on connection: PostgreSQLConnection) throws -> [Int64: Found] {
        let found = try connection.query(
            """
            SELECT o.id, o.event, o.state, o.generation, o.attempts, e.expires_at
            FROM outbox o JOIN event_fixed e ON e.id = o.event
            WHERE o.id = ANY($1) ORDER BY o.id FOR UPDATE OF o
            """,
            arrays: [.ints(Set(outcomes.map(\.rowID)).sorted())]
        ) { row -> (Int64, Found)? in
            guard let state = StateCode.state(row.int(2)) else { return nil }
            let stored = StoredRow(
                state: state,
                generation: row.int(3),
                attempts: row.int(4),
                expiresAt: UnixSeconds(row.int(5))
            )
            return (row.int(0), Found(event: row.int(1), row: stored))
        }
        return Dictionary(found.compactMap(\.self)) { first, _ in first }
    }

    private func write(
        _ changes: [Int64: Change],
        now: Int64,
        on connection: PostgreSQLConnection
    ) throws {
        guard !changes.isEmpty else { return }
        let sorted = changes.sorted { $0.key < $1.key }
        try connection.execute(
            """
            WITH change AS MATERIALIZED (
                SELECT * FROM unnest($2, $3, $4, $5, $6) AS c(id, state, reason, attempts, due)
            ), erased AS (
                DELETE FROM envelope b USING change c WHERE b.row = c.id AND c.state >= 2
            )
            UPDATE outbox o SET state = c.state, reason = c.reason, attempts = c.attempts,
                claims = 0, due = coalesce(c.due, o.due), updated_at = $1
            FROM change c WHERE o.id = c.id
            """,
            arrays: [
                .value(.int(now)), .ints(sorted.map(\.key)),
                .ints(sorted.map { StateCode.of($0.value.state) }),
                .texts(sorted.map(\.value.reason)), .ints(sorted.map(\.value.attempts)),
                .ints(sorted.map(\.value.due)),
            ]
        )
    }

    private func keep(
        _ notes: [(row: Int64, note: CleanupNote)],
        on connection: PostgreSQLConnection
    ) throws {
        guard !notes.isEmpty else { return }
        try connection.execute(
            """
            INSERT INTO cleanup
                (row, installation, binding, token_hash, kind, apns_timestamp, confirmed_at)
            SELECT o.id, o.installation, o.binding, n.token_hash, n.kind, n.apns_timestamp,
                n.confirmed_at
            FROM unnest($1, $2, $3, $4, $5)
                AS n(id, token_hash, kind, apns_timestamp, confirmed_at)
            JOIN outbox o ON o.id = n.id ORDER BY o.id
            ON CONFLICT (row) DO NOTHING
            """,
            arrays: [
                .ints(notes.map(\.row)), .blobs(notes.map(\.note.tokenHash.bytes)),
                .texts(notes.map(\.note.kind.rawValue)),
                .ints(notes.map { $0.note.apnsTimestamp?.milliseconds }),
                .ints(notes.map { $0.note.confirmedAt.milliseconds }),
            ]
        )
    }
}
