import Contracts
import EventIngestCore
import FoundationEssentials
import ServiceKit
import Storage

/// Under what an event is recorded besides what was decided about it.
struct EventArrival {
    /// The store's clock.
    var now: UnixMilliseconds
    /// Registration's counter, if it is known already.
    var watermark: Int64?
}

extension SQLEventStore {
    static func facts(
        _ connection: Database.Connection,
        about candidate: EventCandidate,
        now: UnixMilliseconds
    ) throws -> AdmissionFacts {
        let known = try connection.first(
            "SELECT content_hash, event_id FROM received WHERE source = $1 AND id = $2",
            [.text(candidate.source), .text(candidate.id)]
        ) { row in (hash: row.blob(0), eventID: row.blob(1)) }
        var facts = AdmissionFacts(
            known: try known.map {
                AdmissionFacts.Known(
                    contentHash: $0.hash,
                    eventID: try EventID(stored: $0.eventID)
                )
            },
            isRepeated: try isKnown(connection, candidate.notification.eventID),
            cycle: try cycle(connection, candidate, now: now),
            isFull: false,
            now: now
        )
        if case .task = candidate.happening {
            facts.task = try TaskRunRows.facts(connection, candidate.notification.eventID)
        }
        if let key = candidate.notification.dedupeKey {
            facts.detection = try detection(connection, key)
        }
        return facts
    }

    private static func isKnown(_ connection: Database.Connection, _ event: EventID) throws -> Bool
    {
        try connection.first("SELECT 1 FROM events WHERE event_id = $1", [.blob(event.bytes)]) {
            $0.bool(0)
        } ?? false
    }

    private static func cycle(
        _ connection: Database.Connection,
        _ candidate: EventCandidate,
        now: UnixMilliseconds
    ) throws -> CycleFacts {
        let notification = candidate.notification
        guard let cycle = notification.cycle ?? notification.after else { return CycleFacts() }
        let triggers = try connection.first(
            """
            SELECT count(*), max(CASE WHEN admitted = 1 THEN occurred_at_ms END) FROM events
            WHERE cycle = $1
            """,
            [.blob(cycle.bytes)]
        ) { row in (count: row.int(0), notifiedAt: row.intOrNil(1)) }
        let isResolved = try connection.first(
            "SELECT 1 FROM events WHERE after_event = $1",
            [.blob(cycle.bytes)]
        ) { $0.bool(0) }
        let instant = Lifetime(time: candidate.time, expirytime: nil, committedAt: now).occurredAt
        let repeatID = candidate.repeatID(instant)
        return CycleFacts(
            isKnown: (triggers?.count ?? 0) > 0,
            notifiedAt: triggers?.notifiedAt.map { UnixMilliseconds($0) },
            isResolved: isResolved ?? false,
            isRepeatKnown: try repeatID.map { try isKnown(connection, $0) } ?? false
        )
    }

    static func write(
        _ connection: Database.Connection,
        _ record: AdmissionRecord,
        _ candidate: EventCandidate,
        _ arrival: EventArrival
    ) throws {
        try connection.execute(
            """
            INSERT INTO received (source, id, content_hash, verdict, event_id, received_at)
            VALUES ($1, $2, $3, $4, $5, $6)
            """,
            [
                .text(candidate.source), .text(candidate.id), .blob(candidate.contentHash),
                .text(record.verdict.rawValue), .blob(record.notification.eventID.bytes),
                .int(record.lifetime.createdAt.seconds),
            ]
        )
        if let task = record.task {
            try TaskRunRows.save(connection, task, record, candidate)
        }
        let state: Int64? =
            switch record.verdict {
            case .duplicate, .noted: nil
            case .admitted where arrival.watermark == nil: EventSchema.Code.awaitingWatermark
            case .admitted: EventSchema.Code.due
            case .expired: EventSchema.Code.expired
            case .unresolved: EventSchema.Code.unresolved
            case .suppressed: EventSchema.Code.suppressed
            }
        guard let state else { return }
        try insert(connection, record, candidate, state, arrival)
    }

    private static func insert(
        _ connection: Database.Connection,
        _ record: AdmissionRecord,
        _ candidate: EventCandidate,
        _ state: Int64,
        _ arrival: EventArrival
    ) throws {
        let (notification, lifetime) = (record.notification, record.lifetime)
        let isOpen = [.admitted, .unresolved].contains(record.verdict)
        let key = notification.dedupeKey
        if record.startsSilence, let key {
            try startSilence(connection, key, lifetime.occurredAt)
        }
        var detection: [UInt8]?
        if record.verdict == .unresolved, case .security(let seen) = candidate.happening {
            detection = [UInt8](try JSONEncoder().encode(seen))
        }
        try connection.execute(
            """
            INSERT INTO events (event_id, source, id, category, occurred_at_ms, created_at,
                expires_at, state, reason, after_event, holds, traceparent, payload, cycle,
                admitted, publisher, type, dedupe_key, detection, watermark, turn_at_ms)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
                $19, $20, $21)
            """,
            [
                .blob(notification.eventID.bytes), .text(candidate.source), .text(candidate.id),
                .text(notification.category.rawValue),
                .int(lifetime.occurredAt.milliseconds), .int(lifetime.createdAt.seconds),
                .int(lifetime.expiresAt.seconds), .int(state),
                .text(orNull: record.reason),
                .blob(orNull: notification.after?.bytes),
                .bool(try holds(connection, notification)),
                .text(orNull: isOpen ? candidate.traceparent : nil),
                .blob(orNull: isOpen ? try EventPayload(notification).encoded() : nil),
                .blob(orNull: notification.cycle?.bytes), .bool(record.verdict == .admitted),
                .text(orNull: candidate.publisher.name), .text(candidate.type),
                .blob(orNull: key), .blob(orNull: detection),
                .int(orNull: isOpen ? arrival.watermark : nil),
                .int(orNull: state == EventSchema.Code.due ? arrival.now.milliseconds : nil),
            ]
        )
    }

    /// Whether the event is to be kept until its cycle's recovery comes; lets go of what is kept
    /// for this one. Of the repeats only the latest is kept.
    private static func holds(
        _ connection: Database.Connection,
        _ notification: Notification
    ) throws -> Bool {
        if let after = notification.after {
            try connection.execute(
                "UPDATE events SET holds = 0 WHERE cycle = $1 AND holds = 1",
                [.blob(after.bytes)]
            )
        }
        guard notification.opensCycle, let cycle = notification.cycle else { return false }
        if cycle != notification.eventID {
            try connection.execute(
                "UPDATE events SET holds = 0 WHERE cycle = $1 AND event_id != $1 AND holds = 1",
                [.blob(cycle.bytes)]
            )
        }
        let resolved = try connection.first(
            "SELECT 1 FROM events WHERE after_event = $1",
            [.blob(cycle.bytes)]
        ) { $0.bool(0) }
        return resolved == nil
    }
}
