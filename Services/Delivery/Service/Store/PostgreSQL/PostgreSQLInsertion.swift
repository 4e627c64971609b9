import Contracts
import DeliveryCore
import Storage

/// Adds one batch of an event to the outbox, in one transaction.
struct PostgreSQLInsertion: Sendable {
    let batch: DeliveryEnqueue
    let leasing: Int
    let leaseMilliseconds: Int64

    private struct Event {
        var key: Int64
        var expiresAt: UnixSeconds
    }

    /// A record and what it begins as.
    private struct Start {
        var record: DeliveryEnqueue.Record
        var state: ReceiptState
        var reason: String?
        var body: [UInt8]?
        var isLeased = false
        var due: Int64
    }

    /// `now` is milliseconds of the store's clock.
    func run(now: Int64, on connection: PostgreSQLConnection) throws -> (EnqueueResult, Int64) {
        let event = try findEvent(on: connection) ?? makeEvent(now: now, on: connection)
        let starts = starts(event, now: now)
        let added = try insert(starts, event, now: now, on: connection)
        var result = EnqueueResult(
            accepted: added.count,
            duplicate: batch.records.count - added.count,
            leased: []
        )
        let new = starts.compactMap { start in
            added[start.record.installationID.text].map { (row: $0, start: start) }
        }
        try keep(new, on: connection)
        try count(new, event, on: connection)
        result.leased = new.filter(\.start.isLeased).map { row, start in
            leased(start.record, row, event, now: now)
        }
        return (result, Int64(new.count { $0.start.body != nil }))
    }

    private func findEvent(on connection: PostgreSQLConnection) throws -> Event? {
        try connection.first(
            "SELECT id, expires_at FROM event_fixed WHERE event_id = $1",
            [.blob(batch.eventID.bytes)]
        ) { Event(key: $0.int(0), expiresAt: UnixSeconds($0.int(1))) }
    }

    /// The first batch of an event fixes its end: nothing extends it, and no row outlives 1800 s.
    private func makeEvent(now: Int64, on connection: PostgreSQLConnection) throws -> Event {
        // The sender's clock may be ahead: no row lives longer than this by ours.
        let latest = UnixMilliseconds(now).second.adding(seconds: 1800)
        let expiresAt = min(batch.expiresAt, batch.createdAt.adding(seconds: 1800), latest)
        let made = try connection.first(
            """
            WITH made AS (
                INSERT INTO event_fixed (event_id, category, created_at, expires_at, watermark)
                VALUES ($1, $2, $3, $4, $5) ON CONFLICT (event_id) DO NOTHING RETURNING id
            )
            INSERT INTO event_count (event, expires_at) SELECT id, $4 FROM made RETURNING event
            """,
            [
                .blob(batch.eventID.bytes), .text(batch.category.rawValue),
                .int(batch.createdAt.seconds), .int(expiresAt.seconds), .int(batch.watermark),
            ]
        ) { Event(key: $0.int(0), expiresAt: expiresAt) }
        if let made { return made }
        // Another transaction made it meanwhile, and this one waited for its end.
        guard let found = try findEvent(on: connection) else {
            throw StorageError.conflict(
                "the event was removed while a batch came for it; try again"
            )
        }
        return found
    }

    /// In the order of installations, so that batches that meet do not wait for each other in a circle.
    private func starts(_ event: Event, now: Int64) -> [Start] {
        var seen: Set<InstallationID> = []
        var leases = leasing
        var starts: [Start] = []
        starts.reserveCapacity(batch.records.count)
        for record in batch.records where seen.insert(record.installationID).inserted {
            var start = start(of: record, event, now: now)
            if start.body != nil && leases > 0 {
                leases -= 1
                start.isLeased = true
                start.due = now + leaseMilliseconds
            }
            starts.append(start)
        }
        return starts.sorted { $0.record.installationID.text < $1.record.installationID.text }
    }

    private func start(
        of record: DeliveryEnqueue.Record,
        _ event: Event,
        now: Int64
    ) -> Start {
        guard let envelope = record.envelope else {
            let reason = record.failure.map(Reason.sealing) ?? Reason.unreadable
            return Start(record: record, state: .permanent, reason: reason, due: now)
        }
        guard now < event.expiresAt.start.milliseconds else {
            return Start(record: record, state: .expired, reason: Reason.expired, due: now)
        }
        guard let body = EnvelopeBytes.encode(envelope) else {
            return Start(record: record, state: .permanent, reason: Reason.unreadable, due: now)
        }
        return Start(record: record, state: .pending, body: body, due: now)
    }

    /// Row numbers of what was new, by installation.
    private func insert(
        _ starts: [Start],
        _ event: Event,
        now: Int64,
        on connection: PostgreSQLConnection
    ) throws -> [String: Int64] {
        let added = try connection.query(
            """
            INSERT INTO outbox (event, installation, binding, state, reason, claims, generation, due,
                updated_at)
            SELECT $1, installation, binding, state, reason, claims, claims, due, $2
            FROM unnest($3, $4, $5, $6, $7, $8)
                AS r(installation, binding, state, reason, claims, due)
            ON CONFLICT (event, installation) DO NOTHING RETURNING installation, id
            """,
            arrays: [
                .value(.int(event.key)), .value(.int(now)),
                .texts(starts.map(\.record.installationID.text)),
                .ints(starts.map(\.record.binding)),
                .ints(starts.map { StateCode.of($0.state) }), .texts(starts.map(\.reason)),
                .ints(starts.map { $0.isLeased ? 1 : 0 }), .ints(starts.map(\.due)),
            ]
        ) { ($0.text(0), $0.int(1)) }
        return Dictionary(added) { first, _ in first }
    }

    private func keep(
        _ new: [(row: Int64, start: Start)],
        on connection: PostgreSQLConnection
    ) throws {
        let sealed = new.filter { $0.start.body != nil }
        guard !sealed.isEmpty else { return }
        try connection.execute(
            "INSERT INTO envelope (row, body) SELECT * FROM unnest($1, $2)",
            arrays: [.ints(sealed.map(\.row)), .blobs(sealed.map(\.start.body))]
        )
    }

    /// Keeps the counters of the event, and the range of row numbers in which its receipts are found.
    private func count(
        _ new: [(row: Int64, start: Start)],
        _ event: Event,
        on connection: PostgreSQLConnection
    ) throws {
        guard let first = new.map(\.row).min(), let last = new.map(\.row).max() else { return }
        let open = new.filter { $0.start.body != nil }
        let counted = try connection.execute(
            """
            UPDATE event_count SET open = open + $2, permanent = permanent + $3,
                expired = expired + $4, turn = least(turn, $5), last_row = greatest(last_row, $7),
                first_row = CASE first_row WHEN 0 THEN $6 ELSE least(first_row, $6) END
            WHERE event = $1
            """,
            [
                .int(event.key), .int(open.count),
                .int(new.count { $0.start.state == .permanent }),
                .int(new.count { $0.start.state == .expired }),
                .int(open.map(\.start.due).min() ?? .max), .int(first), .int(last),
            ]
        )
        // A sweep may have removed the event since it was looked up: the same again makes it anew.
        guard counted == 1 else {
            throw StorageError.conflict(
                "the event was removed while a batch came for it; try again"
            )
        }
    }

    private func leased(
        _ record: DeliveryEnqueue.Record,
        _ row: Int64,
        _ event: Event,
        now: Int64
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
}
