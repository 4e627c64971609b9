import Contracts
import DeliveryCore
import Storage

/// Ends and removes rows in small batches; processes that sweep at the same time pass over what
/// another one holds.
struct PostgreSQLSweep: Sendable {
    /// No due time lies further ahead than a row can live plus a lease; one that does was written
    /// before the clock was set back.
    private static let horizonMilliseconds: Int64 = 2_400_000

    /// Ends open rows of ended events that are due: a waiting row is due at its end at the latest, and
    /// a claimed one when its lease has lapsed.
    func expire(
        limit: Int,
        now: Int64,
        on connection: PostgreSQLConnection
    ) throws -> (Int, Int64) {
        try mendClock(now: now, on: connection)
        var deltas = EventDeltas()
        var ended = try end(
            """
            SELECT o.id, o.event, o.state FROM (
                SELECT event FROM event_count
                WHERE turn < 9223372036854775807 AND expires_at <= $2 ORDER BY expires_at LIMIT 64
            ) e CROSS JOIN LATERAL (
                SELECT id, event, state FROM outbox r
                WHERE r.event = e.event AND state < 2 AND claims < 2 AND due <= $1
                LIMIT $3 FOR UPDATE SKIP LOCKED
            ) o LIMIT $3
            """,
            limit: limit,
            now: now,
            &deltas,
            on: connection
        )
        if ended < limit {
            ended += try end(
                """
                SELECT o.id, o.event, o.state FROM outbox o JOIN event_fixed e ON e.id = o.event
                WHERE o.state < 2 AND o.claims >= 2 AND o.due <= $1 AND e.expires_at <= $2
                LIMIT $3 FOR UPDATE OF o SKIP LOCKED
                """,
                limit: limit - ended,
                now: now,
                &deltas,
                on: connection
            )
        }
        try deltas.write(to: connection)
        return (ended, deltas.open)
    }

    /// Ends the rows that a statement selects and locks.
    private func end(
        _ selection: String,
        limit: Int,
        now: Int64,
        _ deltas: inout EventDeltas,
        on connection: PostgreSQLConnection
    ) throws -> Int {
        let rows = try connection.query(
            """
            WITH late AS MATERIALIZED (\(selection)), erased AS (
                DELETE FROM envelope b USING late l WHERE b.row = l.id
            ), ended AS (
                UPDATE outbox o SET state = $4, reason = $5, claims = 0, updated_at = $1
                FROM late l WHERE o.id = l.id
            )
            SELECT event, state FROM late
            """,
            [
                .int(now), .int(now / 1000), .int(limit), .int(StateCode.of(.expired)),
                .text(Reason.expired),
            ]
        ) { (event: $0.int(0), state: $0.int(1)) }
        for row in rows { deltas.moved(row.event, from: StateCode.state(row.state), to: .expired) }
        return rows.count
    }

    /// Pulls back what was written while the server's clock was ahead.
    private func mendClock(now: Int64, on connection: PostgreSQLConnection) throws {
        let horizon = now + Self.horizonMilliseconds
        let events = try connection.query(
            """
            SELECT event FROM event_count
            WHERE turn < 9223372036854775807 AND turn > $1 ORDER BY event LIMIT 64
            """,
            [.int(horizon)]
        ) { $0.int(0) }
        guard !events.isEmpty else { return }
        try connection.execute(
            """
            WITH far AS MATERIALIZED (
                SELECT id FROM outbox WHERE event = ANY($1) AND state < 2 AND due > $2
                ORDER BY id FOR UPDATE
            )
            UPDATE outbox o SET due = $3 FROM far f WHERE o.id = f.id
            """,
            arrays: [.ints(events), .value(.int(horizon)), .value(.int(now))]
        )
        var deltas = EventDeltas()
        for event in events { deltas.due(event, at: now) }
        try deltas.write(to: connection)
    }

    /// Removes rows of events that ended long enough ago, then the events themselves.
    func purge(
        retentionMilliseconds: Int64,
        limit: Int,
        now: Int64,
        on connection: PostgreSQLConnection
    ) throws -> Int {
        let events = try connection.query(
            "SELECT id FROM event_fixed WHERE expires_at <= $1 ORDER BY expires_at LIMIT 64",
            [.int((now - retentionMilliseconds) / 1000)]
        ) { $0.int(0) }
        var remaining = limit
        for event in events where remaining > 0 {
            let removed = try connection.execute(
                """
                WITH old AS MATERIALIZED (
                    SELECT id FROM outbox WHERE event = $1 AND state >= 2
                    LIMIT $2 FOR UPDATE SKIP LOCKED
                )
                DELETE FROM outbox o USING old WHERE o.id = old.id
                """,
                [.int(event), .int(remaining)]
            )
            if removed < remaining { try forget(event, on: connection) }
            remaining -= removed
        }
        return limit - remaining
    }

    /// Removes an event that has no rows any more; one that gets a row at this moment stays, since
    /// whoever adds the row changes its counters.
    private func forget(_ event: Int64, on connection: PostgreSQLConnection) throws {
        let gone = try connection.execute(
            """
            DELETE FROM event_count WHERE event = $1 AND open = 0
                AND NOT EXISTS (SELECT 1 FROM outbox WHERE event = $1)
            """,
            [.int(event)]
        )
        if gone > 0 {
            try connection.execute("DELETE FROM event_fixed WHERE id = $1", [.int(event)])
        }
    }
}
