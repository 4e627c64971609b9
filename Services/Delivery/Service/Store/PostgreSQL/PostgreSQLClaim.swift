import Contracts
import DeliveryCore
import Storage

/// Claims due rows, in one transaction: due time becomes lease end, generation and claims go up.
///
/// Rows that another process is claiming at the moment are passed over, not waited for.
struct PostgreSQLClaim: Sendable {
    let leaseMilliseconds: Int64
    /// How long to wait before looking again for rows that somebody else had in hand.
    let pauseMilliseconds: Int64

    /// Events that one claim looks at.
    private static let eventsPerClaim = 64

    func run(
        limit: Int,
        now: Int64,
        on connection: PostgreSQLConnection
    ) throws -> ClaimResult {
        let due = try dueEvents(now: now, on: connection)
        var waiting = due
        var turns = FairTurns(limit: limit, events: due.count)
        var rows: [ClaimedRow] = []
        var served: Set<Int64> = []
        while !waiting.isEmpty && turns.remaining > 0 {
            let shares = turns.shares(events: waiting.count)
            let taken = try take(zip(waiting, shares).map { ($0, $1) }, now: now, on: connection)
            rows += taken.rows
            served.formUnion(zip(waiting, shares).filter { $0.1 > 0 }.map(\.0))
            waiting = zip(waiting, shares).filter { event, share in
                share == 0 || taken.counts[event] ?? 0 >= share
            }.map(\.0)
            turns.took(taken.rows.count)
            turns.beginRound(events: waiting.count)
            if taken.rows.isEmpty { break }
        }
        // Those that were not served at all keep their place in the line.
        let hungry = Set(waiting)
        try setTurns(of: served.sorted(), hungry: hungry, now: now, on: connection)
        let next = try nextDue(now: now, on: connection)
        return ClaimResult(
            rows: rows,
            hasMore: !rows.isEmpty && (due.count == Self.eventsPerClaim || !hungry.isEmpty),
            hasLoneRow: next.hasLoneRow,
            nextDueMilliseconds: next.due.map { rows.isEmpty ? max(pauseMilliseconds, $0) : $0 }
        )
    }

    func runAlone(now: Int64, on connection: PostgreSQLConnection) throws -> ClaimedRow? {
        try connection.query(
            """
            WITH due AS MATERIALIZED (
                SELECT id FROM outbox WHERE state < 2 AND claims >= 2 AND due <= $1
                ORDER BY due LIMIT 1 FOR UPDATE SKIP LOCKED
            ), claimed AS (\(Self.claim) FROM due d WHERE o.id = d.id RETURNING o.*)
            \(Self.claimed)
            """,
            [.int(now), .int(now + leaseMilliseconds)]
        ) { claimed($0, now: now) }.compactMap(\.self).first
    }

    private func dueEvents(now: Int64, on connection: PostgreSQLConnection) throws -> [Int64] {
        try connection.query(
            """
            SELECT event FROM event_count
            WHERE turn < 9223372036854775807 AND turn <= $1 AND expires_at > $2
            ORDER BY turn LIMIT $3
            """,
            [.int(now), .int(now / 1000), .int(Self.eventsPerClaim)]
        ) { $0.int(0) }
    }

    /// An UPDATE through a CTE that is evaluated once: with a subquery in its WHERE it may claim more
    /// rows than the limit.
    private func take(
        _ wanted: [(event: Int64, share: Int)],
        now: Int64,
        on connection: PostgreSQLConnection
    ) throws -> (rows: [ClaimedRow], counts: [Int64: Int]) {
        var counts: [Int64: Int] = [:]
        let rows = try connection.query(
            """
            WITH due AS MATERIALIZED (
                SELECT r.id FROM unnest($3, $4) AS w(event, share) CROSS JOIN LATERAL (
                    SELECT id FROM outbox o
                    WHERE o.event = w.event AND state < 2 AND claims < 2 AND due <= $1
                    ORDER BY due LIMIT w.share FOR UPDATE SKIP LOCKED
                ) r
            ), claimed AS (\(Self.claim) FROM due d WHERE o.id = d.id RETURNING o.*)
            \(Self.claimed)
            """,
            arrays: [
                .value(.int(now)), .value(.int(now + leaseMilliseconds)),
                .ints(wanted.map(\.event)), .ints(wanted.map { Int64($0.share) }),
            ]
        ) { row in
            counts[row.int(1), default: 0] += 1
            return claimed(row, now: now)
        }
        return (rows.compactMap(\.self), counts)
    }

    private static let claim = """
        UPDATE outbox o SET due = $2, generation = o.generation + 1, claims = o.claims + 1
        """

    private static let claimed = """
        SELECT c.id, c.event, c.installation, c.binding, c.generation, c.attempts, c.claims - 1,
            e.event_id, e.category, e.watermark, e.expires_at, b.body
        FROM claimed c JOIN event_fixed e ON e.id = c.event LEFT JOIN envelope b ON b.row = c.id
        ORDER BY c.event, c.id
        """

    /// Nil for an event that no version of this program stored.
    private func claimed(_ row: PostgreSQLRow, now: Int64) -> ClaimedRow? {
        guard let event = EventID(bytes: row.blob(7)),
            let category = Category(rawValue: row.text(8))
        else { return nil }
        let expiresAt = UnixSeconds(row.int(10))
        return ClaimedRow(
            lease: RowLease(rowID: row.int(0), generation: row.int(4)),
            eventID: event,
            category: category,
            watermark: row.int(9),
            installationID: InstallationID(row.text(2)),
            binding: row.int(3),
            attempts: row.int(5),
            claims: row.int(6),
            expiresAt: expiresAt,
            lifeMilliseconds: expiresAt.start.milliseconds - now,
            envelope: EnvelopeBytes.decode(row.blob(11))
        )
    }

    /// An event that has more due rows goes to the back of the line, any other to its next due time.
    ///
    /// The lock comes before the look at the rows, in a statement of its own: whoever adds rows writes
    /// the turn last, so that either this sees the rows or they see this turn. An event that is locked
    /// is left as it is and looked at again.
    private func setTurns(
        of events: [Int64],
        hungry: Set<Int64>,
        now: Int64,
        on connection: PostgreSQLConnection
    ) throws {
        guard !events.isEmpty else { return }
        let locked = try connection.query(
            """
            SELECT event FROM event_count WHERE event = ANY($1) ORDER BY event
            FOR UPDATE SKIP LOCKED
            """,
            arrays: [.ints(events)]
        ) { $0.int(0) }
        guard !locked.isEmpty else { return }
        try connection.execute(
            """
            UPDATE event_count s SET turn = CASE WHEN f.isHungry = 1 THEN $3 ELSE coalesce(
                (SELECT min(o.due) FROM outbox o
                 WHERE o.event = s.event AND o.state < 2 AND o.claims < 2), 9223372036854775807) END
            FROM unnest($1, $2) AS f(event, isHungry) WHERE s.event = f.event
            """,
            arrays: [
                .ints(locked), .ints(locked.map { hungry.contains($0) ? 1 : 0 }), .value(.int(now)),
            ]
        )
    }

    private func nextDue(
        now: Int64,
        on connection: PostgreSQLConnection
    ) throws -> (due: Int64?, hasLoneRow: Bool) {
        let found = try connection.first(
            """
            SELECT
                (SELECT turn FROM event_count
                 WHERE turn < 9223372036854775807 AND expires_at > $1 ORDER BY turn LIMIT 1),
                (SELECT due FROM outbox WHERE state < 2 AND claims >= 2 ORDER BY due LIMIT 1)
            """,
            [.int(now / 1000)]
        ) { (turn: $0.intOrNil(0), lone: $0.intOrNil(1)) }
        let due = [found?.turn, found?.lone].compactMap { $0 ?? nil }.min()
        let lone = found.flatMap(\.lone)
        return (due.map { max(0, $0 - now) }, lone.map { $0 <= now } ?? false)
    }
}
