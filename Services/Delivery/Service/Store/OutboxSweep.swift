import Contracts
import DeliveryCore
import Storage

/// Ends, removes and frees rows in small batches.
struct OutboxSweep: Sendable {
    /// Milliseconds of the store's clock.
    let now: Int64

    /// No due time lies further ahead than a row can live plus a lease; one that does was written
    /// before the clock was set back.
    private static let horizonMilliseconds: Int64 = 2_400_000

    /// Ends open rows of ended events that are due: a waiting row is due at its end at the latest, and
    /// a claimed one when its lease has lapsed.
    func expire(limit: Int, on connection: SQLiteConnection) throws -> (Int, Int64) {
        try mendClock(on: connection)
        var deltas = EventDeltas()
        var remaining = limit
        let events = try connection.query(
            """
            SELECT id FROM event INDEXED BY event_end
            WHERE open > 0 AND expires_at <= $1 ORDER BY expires_at LIMIT 64
            """,
            [.int(now / 1000)]
        ) { $0.int(0) }
        for event in events where remaining > 0 {
            let rows = try connection.query(
                """
                SELECT id, state FROM outbox INDEXED BY outbox_due
                WHERE event = $1 AND state < 2 AND claims < 2 AND due <= $2 ORDER BY due LIMIT $3
                """,
                [.int(event), .int(now), .int(remaining)],
                { (event: event, id: $0.int(0), state: $0.int(1)) }
            )
            try end(rows, &deltas, on: connection)
            remaining -= rows.count
        }
        if remaining > 0 {
            let lone = try connection.query(
                """
                SELECT o.event, o.id, o.state FROM outbox o INDEXED BY outbox_lone
                JOIN event e ON e.id = o.event
                WHERE o.state < 2 AND o.claims >= 2 AND o.due <= $1 AND e.expires_at <= $2 LIMIT $3
                """,
                [.int(now), .int(now / 1000), .int(remaining)],
                { (event: $0.int(0), id: $0.int(1), state: $0.int(2)) }
            )
            try end(lone, &deltas, on: connection)
            remaining -= lone.count
        }
        try deltas.write(to: connection)
        return (limit - remaining, deltas.open)
    }

    private func end(
        _ rows: [(event: Int64, id: Int64, state: Int64)],
        _ deltas: inout EventDeltas,
        on connection: SQLiteConnection
    ) throws {
        let update = try connection.prepare(
            """
            UPDATE outbox SET state = $2, reason = $3, claims = 0, updated_at = $4 WHERE id = $1
            """
        )
        let erase = try connection.prepare("DELETE FROM envelope WHERE row = $1")
        for row in rows {
            try update.run([
                .int(row.id), .int(StateCode.of(.expired)), .text(Reason.expired), .int(now),
            ])
            try erase.run([.int(row.id)])
            deltas.moved(row.event, from: StateCode.state(row.state), to: .expired)
        }
    }

    /// Pulls back what was written while the clock was ahead.
    private func mendClock(on connection: SQLiteConnection) throws {
        let horizon = now + Self.horizonMilliseconds
        let events = try connection.query(
            """
            SELECT id FROM event INDEXED BY event_turn WHERE open > 0 AND turn > $1 AND turn < $2
            LIMIT 64
            """,
            [.int(horizon), .int(Int64.max)]
        ) { $0.int(0) }
        for event in events {
            try connection.execute(
                "UPDATE outbox SET due = $2 WHERE event = $1 AND state < 2 AND due > $3",
                [.int(event), .int(now), .int(horizon)]
            )
            try connection.execute(
                "UPDATE event SET turn = $2 WHERE id = $1",
                [.int(event), .int(now)]
            )
        }
    }

    /// Removes rows of events that ended long enough ago, then the events themselves.
    func purge(
        retentionMilliseconds: Int64,
        limit: Int,
        on connection: SQLiteConnection
    ) throws -> Int {
        let events = try connection.query(
            """
            SELECT id FROM event INDEXED BY event_age
            WHERE expires_at <= $1 ORDER BY expires_at LIMIT 64
            """,
            [.int((now - retentionMilliseconds) / 1000)]
        ) { $0.int(0) }
        var remaining = limit
        for event in events where remaining > 0 {
            let removed = try connection.execute(
                """
                DELETE FROM outbox WHERE id IN
                    (SELECT id FROM outbox WHERE event = $1 AND state >= 2 LIMIT $2)
                """,
                [.int(event), .int(remaining)]
            )
            if removed < remaining {
                try connection.execute(
                    "DELETE FROM event WHERE id = $1 AND open = 0",
                    [.int(event)]
                )
            }
            remaining -= removed
        }
        return limit - remaining
    }

    /// Makes claimed rows due at once: their holder was a former run of this process.
    func recover(on connection: SQLiteConnection) throws -> Int {
        let events = try connection.query("SELECT id FROM event WHERE open > 0") { $0.int(0) }
        var freed = 0
        for event in events {
            freed += try connection.execute(
                """
                UPDATE outbox SET due = $2
                WHERE event = $1 AND state < 2 AND claims < 2 AND due > $2 AND claims > 0
                """,
                [.int(event), .int(now)]
            )
            try connection.execute(
                "UPDATE event SET turn = min(turn, $2) WHERE id = $1",
                [.int(event), .int(now)]
            )
        }
        freed += try connection.execute(
            "UPDATE outbox SET due = $1 WHERE state < 2 AND claims >= 2 AND due > $1",
            [.int(now)]
        )
        return freed
    }
}
