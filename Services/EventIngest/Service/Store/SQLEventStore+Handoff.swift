import Contracts
import EventIngestCore
import FoundationEssentials
import ServiceKit
import Storage

extension SQLEventStore {
    package func awaitingWatermark() async throws -> WatermarkMark? {
        try await database.read { connection in
            let marks = try Self.unsettled.compactMap { condition in
                try connection.first("SELECT max(seq) FROM events WHERE \(condition)") {
                    $0.intOrNil(0)
                } ?? nil
            }
            return marks.max().map { WatermarkMark(sequence: $0) }
        }
    }

    @discardableResult
    package func settle(watermark: Int64, upTo mark: WatermarkMark) async throws -> Int {
        return try await database.write { connection in
            // An unresolved event gets its watermark now, so that a late decision adds no phone.
            try Self.unsettled.reduce(0) { count, condition in
                try count
                    + connection.execute(
                        """
                        UPDATE events SET watermark = $1,
                            turn_at_ms = CASE WHEN state = 0 THEN $2 END,
                            state = CASE WHEN state = 0 THEN 1 ELSE state END
                        WHERE \(condition) AND seq <= $3
                        """,
                        [.int(watermark), .int(now(connection).milliseconds), .int(mark.sequence)]
                    )
            }
        }
    }

    package func claimDue(limit: Int) async throws -> DueEvents {
        return try await database.write { connection in
            let now = now(connection)
            let orders = try Self.handOut(connection, atMost: limit, now: now)
            let next = try connection.first(
                "SELECT min(turn_at_ms) FROM events WHERE turn_at_ms > $1",
                [.int(now.milliseconds)]
            ) { $0.intOrNil(0).map { UnixMilliseconds($0) } }
            return DueEvents(orders: orders, next: next ?? nil, now: now)
        }
    }

    /// Gives away what is due, as long as fewer than `limit` events are out.
    static func handOut(
        _ connection: Database.Connection,
        atMost limit: Int,
        now: UnixMilliseconds
    ) throws -> [HandoffOrder] {
        try mendClock(connection, now: now)
        let out = try connection.first(
            "SELECT count(*) FROM events WHERE state = 2 AND turn_at_ms > $1",
            [.int(now.milliseconds)]
        ) { Int($0.int(0)) }
        var orders: [HandoffOrder] = []
        for due in try due(connection, atMost: limit - (out ?? 0), now: now) {
            var handoff = due.handoff
            guard handoff.hand(now: now) else { continue }
            guard let order = due.order(handoff) else {
                try end(connection, due.sequence, reason: "unreadable")
                continue
            }
            try save(connection, due.sequence, handoff)
            orders.append(order)
        }
        return orders
    }

    package func record(_ progress: FanoutProgress) async throws -> RecordedProgress {
        return try await database.write { connection in
            let stored = try connection.first(
                "SELECT \(Self.handoffColumns) FROM events WHERE event_id = $1",
                [.blob(progress.eventID.bytes)]
            ) { row in (sequence: row.int(0), handoff: try Self.handoff(row)) }
            guard let stored else {
                return RecordedProgress(
                    answer: FanoutProgressAnswer(
                        eventID: progress.eventID,
                        cursor: nil,
                        isOpen: false
                    ),
                    reception: .ended,
                    isCompletion: false
                )
            }
            var handoff = stored.handoff
            let reception = handoff.accept(progress, now: now(connection))
            if handoff != stored.handoff {
                try Self.save(connection, stored.sequence, handoff)
            }
            return RecordedProgress(
                answer: FanoutProgressAnswer(
                    eventID: progress.eventID,
                    cursor: handoff.cursor,
                    isOpen: handoff.isOpen
                ),
                reception: reception,
                isCompletion: reception == .committed && !handoff.isOpen
            )
        }
    }

    @discardableResult
    package func recover() async throws -> Int {
        return try await database.write { connection in
            let now = now(connection)
            let handed = try connection.query(
                """
                SELECT \(Self.handoffColumns) FROM events
                WHERE turn_at_ms IS NOT NULL AND state = 2
                """
            ) { row in (sequence: row.int(0), handoff: try Self.handoff(row)) }
            for row in handed {
                var handoff = row.handoff
                if handoff.release(now: now) { try Self.save(connection, row.sequence, handoff) }
            }
            return handed.count
        }
    }
}

extension SQLEventStore {
    /// Which events have no watermark; apart, so that each is found by its index.
    private static var unsettled: [String] {
        ["state = 0", "state = 5 AND watermark IS NULL"]
    }

    /// In the order in which ``handoff(_:)`` reads them.
    private static var handoffColumns: String {
        "seq, state, turn_at_ms, watermark, cursor, written, skipped, expires_at"
    }

    private static func handoff(_ row: Database.Connection.Row) throws -> Handoff {
        Handoff(
            phase: Handoff.Phase(code: row.int(1), turn: row.int(2)),
            watermark: row.intOrNil(3),
            cursor: row.textOrNil(4).map { InstallationID($0) },
            written: row.int(5),
            skipped: try skipped(row.text(6)),
            expiresAt: UnixSeconds(row.int(7))
        )
    }

    static func skipped(_ text: String) throws -> [String: Int64] {
        try JSONDecoder().decode([String: Int64].self, from: Data(text.utf8))
    }

    /// Pulls back the turns that were written while the clock was ahead.
    private static func mendClock(
        _ connection: Database.Connection,
        now: UnixMilliseconds
    ) throws {
        try connection.execute(
            "UPDATE events SET turn_at_ms = $1 WHERE turn_at_ms > $2",
            [
                .int(now.milliseconds),
                .int(now.adding(milliseconds: Handoff.horizonMilliseconds).milliseconds),
            ]
        )
    }

    private static func due(
        _ connection: Database.Connection,
        atMost limit: Int,
        now: UnixMilliseconds
    ) throws -> [DueEvent] {
        guard limit > 0 else { return [] }
        return try connection.query(
            """
            SELECT \(handoffColumns), event_id, created_at, traceparent, payload FROM events AS e
            WHERE turn_at_ms <= $1 AND expires_at > $2 AND NOT EXISTS (
                SELECT 1 FROM events AS first
                WHERE first.cycle = e.after_event AND first.state < 10
            )
            ORDER BY turn_at_ms, seq LIMIT $3
            """,
            [.int(now.milliseconds), .int(now.second.seconds), .int(limit)]
        ) { row in
            DueEvent(
                sequence: row.int(0),
                handoff: try handoff(row),
                eventID: row.blob(8),
                createdAt: UnixSeconds(row.int(9)),
                traceparent: row.textOrNil(10),
                payload: row.blob(11)
            )
        }
    }

    /// Writes a hand-off back; one that has ended loses its content in the same statement.
    private static func save(
        _ connection: Database.Connection,
        _ sequence: Int64,
        _ handoff: Handoff
    ) throws {
        let skipped = try JSONEncoder().encode(handoff.skipped)
        try connection.execute(
            """
            UPDATE events SET state = $2, turn_at_ms = $3, cursor = $4, written = $5,
                skipped = $6,
                payload = CASE WHEN $2 >= 10 THEN NULL ELSE payload END,
                traceparent = CASE WHEN $2 >= 10 THEN NULL ELSE traceparent END
            WHERE seq = $1
            """,
            [
                .int(sequence), .int(handoff.phase.code),
                .int(orNull: handoff.phase.turn?.milliseconds),
                .text(orNull: handoff.cursor?.text), .int(handoff.written),
                .text(String(decoding: skipped, as: UTF8.self)),
            ]
        )
    }

    private static func end(
        _ connection: Database.Connection,
        _ sequence: Int64,
        reason: String
    ) throws {
        try connection.execute(
            """
            UPDATE events SET state = 11, reason = $2, turn_at_ms = NULL, payload = NULL,
                traceparent = NULL
            WHERE seq = $1
            """,
            [.int(sequence), .text(reason)]
        )
    }
}

/// An event whose turn has come, as it is stored.
private struct DueEvent {
    var sequence: Int64
    var handoff: Handoff
    var eventID: [UInt8]
    var createdAt: UnixSeconds
    var traceparent: String?
    var payload: [UInt8]

    /// Nil when the row cannot be read.
    func order(_ handoff: Handoff) -> HandoffOrder? {
        guard
            let id = try? EventID(stored: eventID),
            let watermark = handoff.watermark,
            let payload = EventPayload.decode(payload)
        else { return nil }
        return HandoffOrder(
            event: EventAdmitted(
                eventID: id,
                createdAt: createdAt,
                expiresAt: handoff.expiresAt,
                watermark: watermark,
                cursor: handoff.cursor,
                audience: payload.audience,
                content: payload.content
            ),
            traceparent: traceparent
        )
    }
}
