import Contracts
import EventIngestCore
import ServiceKit
import Storage

/// The event store on one SQLite file, owned by this process alone.
package struct SQLiteEventStore: EventStore {
    let database: SQLiteDatabase
    let time: any TimeSource
    let limits: EventStoreLimits

    /// Opens or creates the file at an absolute path.
    ///
    /// The clock of `time` is the store's clock. Throws ``StorageError``, for example when another
    /// process owns the file.
    package init(
        path: String,
        time: any TimeSource,
        limits: EventStoreLimits = EventStoreLimits(),
        options: SQLiteOptions = SQLiteOptions()
    ) async throws(StorageError) {
        database = try await SQLiteDatabase.open(
            path: path,
            migrations: EventSchema.migrations,
            options: options
        )
        self.time = time
        self.limits = limits
    }

    package func close() async { await database.close() }

    /// Empties the write-ahead log, so that erased content is in no file any more.
    package func checkpoint() async throws { try await database.checkpoint() }

    package func admit(_ candidates: [EventCandidate]) async throws -> [Admission] {
        var entries: [Entry] = []
        for candidate in candidates {
            let payload = try EventPayload(candidate.notification).encoded()
            entries.append(Entry(candidate: candidate, payload: payload))
        }
        let ready = entries
        let (time, openLimit) = (time, limits.openEvents)
        return try await database.write(rows: 2 * ready.count) { connection in
            let now = time.wall
            var room = openLimit
            room -= try Self.openCount(connection, atMost: openLimit)
            var admissions: [Admission] = []
            for entry in ready {
                let facts = try Self.facts(
                    connection,
                    about: entry.candidate,
                    isFull: room <= 0,
                    now: now
                )
                let admission = Admission(entry.candidate, facts)
                try Self.record(connection, admission, entry)
                if case .record(.admitted, _) = admission { room -= 1 }
                admissions.append(admission)
            }
            return admissions
        }
    }

    private struct Entry: Sendable {
        var candidate: EventCandidate
        var payload: [UInt8]
    }

    private static func openCount(
        _ connection: SQLiteConnection,
        atMost limit: Int
    ) throws -> Int {
        let count = try connection.first(
            "SELECT count(*) FROM (SELECT 1 FROM events WHERE state < 10 LIMIT $1)",
            [.int(limit)]
        ) { $0.int(0) }
        return Int(count ?? 0)
    }

    private static func facts(
        _ connection: SQLiteConnection,
        about candidate: EventCandidate,
        isFull: Bool,
        now: UnixMilliseconds
    ) throws -> AdmissionFacts {
        let known = try connection.first(
            "SELECT content_hash, event_id FROM received WHERE source = $1 AND id = $2",
            [.text(candidate.source), .text(candidate.id)]
        ) { row in (hash: row.blob(0), eventID: row.blob(1)) }
        let repeated = try connection.first(
            "SELECT 1 FROM events WHERE event_id = $1",
            [.blob(candidate.notification.eventID.bytes)]
        ) { $0.bool(0) }
        return AdmissionFacts(
            known: try known.map {
                AdmissionFacts.Known(
                    contentHash: $0.hash,
                    eventID: try EventID(stored: $0.eventID)
                )
            },
            isRepeated: repeated ?? false,
            isFull: isFull,
            now: now
        )
    }

    private static func record(
        _ connection: SQLiteConnection,
        _ admission: Admission,
        _ entry: Entry
    ) throws {
        guard case .record(let verdict, let lifetime) = admission else { return }
        let candidate = entry.candidate
        try connection.execute(
            """
            INSERT INTO received (source, id, content_hash, verdict, event_id, received_at)
            VALUES ($1, $2, $3, $4, $5, $6)
            """,
            [
                .text(candidate.source), .text(candidate.id), .blob(candidate.contentHash),
                .text(verdict.rawValue), .blob(candidate.notification.eventID.bytes),
                .int(lifetime.createdAt.seconds),
            ]
        )
        switch verdict {
        case .duplicate: return
        case .admitted:
            try insert(connection, entry, lifetime, phase: .awaitingWatermark)
        case .expired:
            try insert(connection, entry, lifetime, phase: .expired)
        }
    }

    private static func insert(
        _ connection: SQLiteConnection,
        _ entry: Entry,
        _ lifetime: Lifetime,
        phase: Handoff.Phase
    ) throws {
        let candidate = entry.candidate
        let notification = candidate.notification
        let isOpen = phase == .awaitingWatermark
        var holds = false
        if notification.opensCycle {
            holds =
                try connection.first(
                    "SELECT 1 FROM events WHERE after_event = $1",
                    [.blob(notification.eventID.bytes)]
                ) { $0.bool(0) } == nil
        }
        if let after = notification.after {
            try connection.execute(
                "UPDATE events SET holds = 0 WHERE event_id = $1",
                [.blob(after.bytes)]
            )
        }
        try connection.execute(
            """
            INSERT INTO events (event_id, source, id, category, occurred_at_ms, created_at,
                expires_at, state, reason, after_event, holds, traceparent, payload)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
            """,
            [
                .blob(notification.eventID.bytes), .text(candidate.source), .text(candidate.id),
                .text(notification.category.rawValue),
                .int(lifetime.occurredAt.milliseconds), .int(lifetime.createdAt.seconds),
                .int(lifetime.expiresAt.seconds), .int(phase.code),
                .text(orNull: lifetime.lateness?.rawValue),
                .blob(orNull: notification.after?.bytes), .bool(holds),
                .text(orNull: isOpen ? candidate.traceparent : nil),
                .blob(orNull: isOpen ? entry.payload : nil),
            ]
        )
    }
}
