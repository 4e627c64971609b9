import Contracts
import DeliveryCore
import Storage

/// Claims due rows, in one transaction: due time becomes lease end, generation and claims go up.
struct OutboxClaim: Sendable {
    /// Milliseconds of the store's clock.
    let now: Int64
    let leaseMilliseconds: Int64

    /// Events that one claim looks at.
    private static let eventsPerClaim = 64

    private struct Event {
        var key: Int64
        var eventID: EventID
        var category: Category
        var watermark: Int64
        var expiresAt: UnixSeconds
    }

    func run(limit: Int, on connection: SQLiteConnection) throws -> ClaimResult {
        var waiting = try dueEvents(on: connection)
        let hasMoreEvents = waiting.count == Self.eventsPerClaim
        var turns = FairTurns(limit: limit, events: waiting.count)
        var rows: [ClaimedRow] = []
        while !waiting.isEmpty && turns.remaining > 0 {
            var greedy: [Event] = []
            for event in waiting {
                let share = turns.share()
                guard share > 0 else {
                    greedy.append(event)
                    continue
                }
                let taken = try take(share, of: event, on: connection)
                turns.took(taken.count)
                rows += taken
                if taken.count == share { greedy.append(event) }
                try setTurn(of: event, hasMore: taken.count == share, on: connection)
            }
            waiting = greedy
            turns.beginRound(events: greedy.count)
        }
        return ClaimResult(
            rows: rows,
            hasMore: hasMoreEvents || !waiting.isEmpty,
            hasLoneRow: try hasLoneRow(on: connection),
            nextDueMilliseconds: try nextDue(on: connection)
        )
    }

    func runAlone(on connection: SQLiteConnection) throws -> ClaimedRow? {
        let found = try connection.first(
            """
            SELECT id, event FROM outbox INDEXED BY outbox_lone
            WHERE state < 2 AND claims >= 2 AND due <= $1 ORDER BY due LIMIT 1
            """,
            [.int(now)]
        ) { (row: $0.int(0), event: $0.int(1)) }
        guard let found, let event = try event(found.event, on: connection) else { return nil }
        let row = try connection.first(
            """
            SELECT o.id, o.installation, o.binding, o.generation, o.attempts, o.claims, b.body
            FROM outbox o LEFT JOIN envelope b ON b.row = o.id WHERE o.id = $1
            """,
            [.int(found.row)]
        ) { claimed($0, of: event) }
        if let row { try lease([row], on: connection) }
        return row
    }

    private func dueEvents(on connection: SQLiteConnection) throws -> [Event] {
        try connection.query(
            """
            SELECT id, event_id, category, watermark, expires_at FROM event INDEXED BY event_turn
            WHERE open > 0 AND turn <= $1 AND expires_at > $2 ORDER BY turn LIMIT $3
            """,
            [.int(now), .int(now / 1000), .int(Self.eventsPerClaim)],
            readEvent
        ).compactMap(\.self)
    }

    private func event(_ key: Int64, on connection: SQLiteConnection) throws -> Event? {
        try connection.first(
            "SELECT id, event_id, category, watermark, expires_at FROM event WHERE id = $1",
            [.int(key)],
            readEvent
        ).flatMap(\.self)
    }

    private func readEvent(_ row: SQLiteRow) -> Event? {
        guard let id = EventID(bytes: row.blob(1)), let category = Category(rawValue: row.text(2))
        else {
            return nil
        }
        return Event(
            key: row.int(0),
            eventID: id,
            category: category,
            watermark: row.int(3),
            expiresAt: UnixSeconds(row.int(4))
        )
    }

    private func take(
        _ share: Int,
        of event: Event,
        on connection: SQLiteConnection
    ) throws -> [ClaimedRow] {
        let rows = try connection.query(
            """
            SELECT o.id, o.installation, o.binding, o.generation, o.attempts, o.claims, b.body
            FROM outbox o INDEXED BY outbox_due LEFT JOIN envelope b ON b.row = o.id
            WHERE o.event = $1 AND o.state < 2 AND o.claims < 2 AND o.due <= $2
            ORDER BY o.due LIMIT $3
            """,
            [.int(event.key), .int(now), .int(share)]
        ) { claimed($0, of: event) }
        try lease(rows, on: connection)
        return rows
    }

    private func lease(_ rows: [ClaimedRow], on connection: SQLiteConnection) throws {
        let update = try connection.prepare(
            "UPDATE outbox SET due = $2, generation = $3, claims = claims + 1 WHERE id = $1"
        )
        for row in rows {
            try update.run([
                .int(row.lease.rowID), .int(now + leaseMilliseconds), .int(row.lease.generation),
            ])
        }
    }

    private func claimed(_ row: SQLiteRow, of event: Event) -> ClaimedRow {
        ClaimedRow(
            lease: RowLease(rowID: row.int(0), generation: row.int(3) + 1),
            eventID: event.eventID,
            category: event.category,
            watermark: event.watermark,
            installationID: InstallationID(row.text(1)),
            binding: row.int(2),
            attempts: row.int(4),
            claims: row.int(5),
            expiresAt: event.expiresAt,
            lifeMilliseconds: event.expiresAt.start.milliseconds - now,
            envelope: EnvelopeBytes.decode(row.blob(6))
        )
    }

    /// An event that has more due rows goes to the back of the line, any other to its next due time.
    private func setTurn(of event: Event, hasMore: Bool, on connection: SQLiteConnection) throws {
        var turn = now
        if !hasMore {
            turn =
                try connection.first(
                    """
                    SELECT min(due) FROM outbox INDEXED BY outbox_due
                    WHERE event = $1 AND state < 2 AND claims < 2
                    """,
                    [.int(event.key)]
                ) { $0.intOrNil(0) ?? .max } ?? .max
        }
        try connection.execute(
            "UPDATE event SET turn = $2 WHERE id = $1",
            [.int(event.key), .int(turn)]
        )
    }

    private func hasLoneRow(on connection: SQLiteConnection) throws -> Bool {
        try connection.first(
            """
            SELECT 1 FROM outbox INDEXED BY outbox_lone
            WHERE state < 2 AND claims >= 2 AND due <= $1 LIMIT 1
            """,
            [.int(now)]
        ) { _ in true } ?? false
    }

    private func nextDue(on connection: SQLiteConnection) throws -> Int64? {
        let turn = try connection.first(
            """
            SELECT turn FROM event INDEXED BY event_turn
            WHERE open > 0 AND turn < $1 ORDER BY turn LIMIT 1
            """,
            [.int(Int64.max)]
        ) { $0.int(0) }
        let lone = try connection.first(
            """
            SELECT due FROM outbox INDEXED BY outbox_lone
            WHERE state < 2 AND claims >= 2 ORDER BY due LIMIT 1
            """
        ) { $0.int(0) }
        return [turn, lone].compactMap(\.self).min().map { max(0, $0 - now) }
    }
}
