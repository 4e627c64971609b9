import Contracts
import DeliveryCore
import Storage

/// Adds one batch of an event to the outbox, in one transaction.
struct OutboxInsertion: Sendable {
    let batch: DeliveryEnqueue
    let leasing: Int
    /// Milliseconds of the store's clock.
    let now: Int64
    let leaseMilliseconds: Int64

    /// A row of the event table.
    struct Event {
        var key: Int64
        var expiresAt: UnixSeconds
    }

    func run(on connection: SQLiteConnection) throws -> (EnqueueResult, Int64) {
        let event = try upsertEvent(on: connection)
        let insertRow = try connection.prepare(
            """
            INSERT INTO outbox
                (event, installation, binding, state, reason, claims, generation, due, updated_at)
            VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8)
            ON CONFLICT (event, installation) DO NOTHING
            """
        )
        let insertBody = try connection.prepare("INSERT INTO envelope (row, body) VALUES ($1, $2)")
        var result = EnqueueResult(accepted: 0, duplicate: 0, leased: [])
        var deltas = EventDeltas()
        var firstRow: Int64?
        for record in batch.records {
            let (state, reason, body) = start(of: record, event)
            let isLeased = body != nil && result.leased.count < leasing
            let due = isLeased ? now + leaseMilliseconds : now
            let inserted = try insertRow.run([
                .int(event.key), .text(record.installationID.text), .int(record.binding),
                .int(StateCode.of(state)), .text(orNull: reason), isLeased ? 1 : 0, .int(due),
                .int(now),
            ])
            guard inserted == 1 else {
                result.duplicate += 1
                continue
            }
            let row = connection.lastInsertedRow
            firstRow = firstRow ?? row
            result.accepted += 1
            deltas.moved(event.key, from: nil, to: state)
            guard let body else { continue }
            try insertBody.run([.int(row), .blob(body)])
            deltas.due(event.key, at: due)
            if isLeased { result.leased.append(leased(record, row, event)) }
        }
        try deltas.write(to: connection)
        if let firstRow { try widen(event, firstRow, connection.lastInsertedRow, on: connection) }
        return (result, deltas.open)
    }

    /// The first batch of an event fixes its end: nothing extends it, and no row outlives 1800 s.
    private func upsertEvent(on connection: SQLiteConnection) throws -> Event {
        let id = SQLValue.blob(batch.eventID.bytes)
        let find = try connection.prepare("SELECT id, expires_at FROM event WHERE event_id = $1")
        if let found = try find.first(
            [id],
            { Event(key: $0.int(0), expiresAt: UnixSeconds($0.int(1))) }
        ) {
            return found
        }
        // The sender's clock may be ahead: no row lives longer than this by ours.
        let latest = UnixMilliseconds(now).second.adding(seconds: 1800)
        let expiresAt = min(batch.expiresAt, batch.createdAt.adding(seconds: 1800), latest)
        try connection.execute(
            """
            INSERT INTO event (event_id, category, created_at, expires_at, watermark, turn)
            VALUES ($1, $2, $3, $4, $5, $6)
            """,
            [
                id, .text(batch.category.rawValue), .int(batch.createdAt.seconds),
                .int(expiresAt.seconds), .int(batch.watermark), .int(Int64.max),
            ]
        )
        return Event(key: connection.lastInsertedRow, expiresAt: expiresAt)
    }

    private func start(
        of record: DeliveryEnqueue.Record,
        _ event: Event
    ) -> (ReceiptState, String?, [UInt8]?) {
        guard let envelope = record.envelope else {
            return (.permanent, record.failure.map(Reason.sealing) ?? Reason.unreadable, nil)
        }
        guard now < event.expiresAt.start.milliseconds else {
            return (.expired, Reason.expired, nil)
        }
        guard let body = EnvelopeBytes.encode(envelope) else {
            return (.permanent, Reason.unreadable, nil)
        }
        return (.pending, nil, body)
    }

    private func leased(
        _ record: DeliveryEnqueue.Record,
        _ row: Int64,
        _ event: Event
    ) -> ClaimedRow {
        ClaimedRow(
            lease: RowLease(rowID: row, generation: 1),
            eventID: batch.eventID,
            category: batch.category,
            watermark: batch.watermark,
            installationID: record.installationID,
            binding: record.binding,
            attempts: 0,
            claims: 0,
            expiresAt: event.expiresAt,
            lifeMilliseconds: event.expiresAt.start.milliseconds - now,
            envelope: record.envelope
        )
    }

    /// Keeps the range of row numbers, so that the receipts of an event are found without an index.
    private func widen(
        _ event: Event,
        _ first: Int64,
        _ last: Int64,
        on connection: SQLiteConnection
    ) throws {
        try connection.execute(
            """
            UPDATE event SET first_row = CASE first_row WHEN 0 THEN $2 ELSE first_row END,
                last_row = max(last_row, $3)
            WHERE id = $1
            """,
            [.int(event.key), .int(first), .int(last)]
        )
    }
}
