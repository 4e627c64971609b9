import Contracts
import DeliveryCore
import Storage

/// What an operator changes, a window of row numbers in one transaction.
struct PostgreSQLAdministration: Sendable {
    let rows: OutboxSelection
    let after: Int64?

    /// Row numbers that one page covers, so that no page holds up the outcomes of sends for long.
    private static let rowsPerPage: Int64 = 5000

    private struct Found {
        var id: Int64
        var event: Int64
        var state: ReceiptState?
        var claims: Int64
        var due: Int64

        /// Whether a worker may be sending it.
        func isHeld(at now: Int64) -> Bool { claims > 0 && due > now }
    }

    /// Makes waiting rows due now. A claimed row has its lease's end as due time, so it is left alone.
    func advance(
        now: Int64,
        on connection: PostgreSQLConnection
    ) throws -> (RowsChanged, Int64) {
        try change(now: now, on: connection) { found, deltas in
            let waiting = found.filter { $0.claims == 0 && $0.due > now }
            try connection.execute(
                "UPDATE outbox SET due = $2 WHERE id = ANY($1)",
                arrays: [.ints(waiting.map(\.id)), .value(.int(now))]
            )
            for row in waiting { deltas.due(row.event, at: now) }
            return waiting.count
        }
    }

    /// Ends rows that nobody holds.
    func cancel(
        now: Int64,
        on connection: PostgreSQLConnection
    ) throws -> (RowsChanged, Int64) {
        try change(now: now, on: connection) { found, deltas in
            let free = found.filter { !$0.isHeld(at: now) }
            try connection.execute(
                """
                WITH erased AS (DELETE FROM envelope WHERE row = ANY($1))
                UPDATE outbox SET state = $2, reason = $3, claims = 0, updated_at = $4
                WHERE id = ANY($1)
                """,
                arrays: [
                    .ints(free.map(\.id)), .value(.int(StateCode.of(.permanent))),
                    .value(.text(Reason.cancelled)), .value(.int(now)),
                ]
            )
            for row in free { deltas.moved(row.event, from: row.state, to: .permanent) }
            return free.count
        }
    }

    private func change(
        now: Int64,
        on connection: PostgreSQLConnection,
        _ body: ([Found], inout EventDeltas) throws -> Int
    ) throws -> (RowsChanged, Int64) {
        let range = try OutboxWindow.rowRange(of: rows.eventID, on: connection)
        guard let range, range.upperBound > after ?? 0 else {
            return (RowsChanged(changed: 0, held: 0, next: nil), 0)
        }
        let first = max(range.lowerBound, (after ?? 0) + 1)
        let last = min(range.upperBound, first + Self.rowsPerPage - 1)
        let found = try lock(first, last, on: connection)
        var deltas = EventDeltas()
        let changed = try body(found, &deltas)
        try deltas.write(to: connection)
        return (
            RowsChanged(
                changed: changed,
                held: found.count { $0.isHeld(at: now) },
                next: last < range.upperBound ? last : nil
            ), deltas.open
        )
    }

    private func lock(
        _ first: Int64,
        _ last: Int64,
        on connection: PostgreSQLConnection
    ) throws -> [Found] {
        try connection.query(
            """
            SELECT o.id, o.event, o.state, o.claims, o.due
            FROM outbox o JOIN event_fixed e ON e.id = o.event
            WHERE o.id BETWEEN $1 AND $2 AND o.state < 2 AND ($3 IS NULL OR e.event_id = $3)
                AND ($4 IS NULL OR o.installation = $4)
            ORDER BY o.id FOR UPDATE OF o
            """,
            [
                .int(first), .int(last), .blob(orNull: rows.eventID?.bytes),
                .text(orNull: rows.installationID?.text),
            ]
        ) {
            Found(
                id: $0.int(0),
                event: $0.int(1),
                state: StateCode.state($0.int(2)),
                claims: $0.int(3),
                due: $0.int(4)
            )
        }
    }
}
