import Contracts
import EventIngestCore
import ServiceKit
import Storage

extension SQLEventStore {
    package func expireDue(limit: Int) async throws -> Int {
        let isDue = try await database.read { connection in
            try connection.first(
                "SELECT 1 FROM events WHERE state < 10 AND expires_at <= $1",
                [.int(now(connection).second.seconds)]
            ) { $0.bool(0) } ?? false
        }
        guard isDue else { return 0 }
        return try await database.write(rows: limit) { connection in
            try connection.execute(
                """
                UPDATE events SET state = 11, turn_at_ms = NULL, payload = NULL, traceparent = NULL,
                    detection = NULL
                WHERE seq IN (
                    SELECT seq FROM events WHERE state < 10 AND expires_at <= $1 LIMIT $2
                )
                """,
                [.int(now(connection).second.seconds), .int(limit)]
            )
        }
    }

    package func purge(limit: Int) async throws -> Int {
        // `received` grows in the order of its clock, so only its oldest rows are looked at.
        let old = """
            SELECT seq FROM (SELECT seq, received_at FROM received ORDER BY seq LIMIT $2) AS oldest
            WHERE received_at < $1
            """
        let ended = """
            SELECT seq FROM events WHERE state >= 10 AND holds = 0 AND created_at < $1 LIMIT $2
            """
        let isDue = try await database.read { connection in
            let cut = retentionStart(connection).seconds
            return try [old, ended].contains { query in
                try connection.first(query, [.int(cut), .int(limit)]) { _ in true } ?? false
            }
        }
        guard isDue else { return 0 }
        return try await database.write(rows: 2 * limit) { connection in
            let cut = retentionStart(connection).seconds
            let bindings: [SQLValue] = [.int(cut), .int(limit)]
            let events = try connection.execute(
                "DELETE FROM received WHERE seq IN (\(old))",
                bindings
            )
            try connection.execute(
                """
                DELETE FROM task_publishers WHERE event_id IN
                    (SELECT event_id FROM task_runs WHERE updated_at < $1)
                """,
                [.int(cut)]
            )
            try connection.execute("DELETE FROM task_runs WHERE updated_at < $1", [.int(cut)])
            try connection.execute(
                "DELETE FROM silences WHERE last_at_ms < $1",
                [.int((cut - 604_800) * 1000)]
            )
            return try events
                + connection.execute("DELETE FROM events WHERE seq IN (\(ended))", bindings)
        }
    }

    /// What was recorded before this is forgotten.
    private func retentionStart(_ connection: Database.Connection) -> UnixSeconds {
        now(connection).second.adding(seconds: -limits.retentionSeconds)
    }

    package func events(_ query: EventQuery) async throws -> [EventQueryAnswer.Event] {
        let columns = Self.eventColumns
        return try await database.read { connection in
            if let eventID = query.eventID {
                return try connection.query(
                    "SELECT \(columns) FROM events WHERE event_id = $1",
                    [.blob(eventID.bytes)],
                    Self.event
                )
            }
            return try connection.query(
                "SELECT \(columns) FROM events ORDER BY seq DESC LIMIT $1",
                [.int(query.limit)],
                Self.event
            )
        }
    }

    /// In the order in which ``event(_:)`` reads them.
    static var eventColumns: String {
        "event_id, source, id, category, state, reason, created_at, expires_at, written, skipped"
    }

    package func backlog() async throws -> EventBacklog {
        try await database.read { connection in
            let open = try connection.first("SELECT count(*) FROM events WHERE state < 10") {
                Int($0.int(0))
            }
            let oldest = try connection.first(
                "SELECT created_at FROM events WHERE state < 10 ORDER BY expires_at LIMIT 1"
            ) { UnixSeconds($0.int(0)) }
            return EventBacklog(open: open ?? 0, oldest: oldest)
        }
    }

    package func probe() async throws {
        try await database.write { connection in
            let key: [SQLValue] = [.blob([])]
            try connection.execute("INSERT INTO silences VALUES ($1, 0)", key)
            try connection.execute("DELETE FROM silences WHERE dedupe_key = $1", key)
        }
    }

    static func event(_ row: Database.Connection.Row) throws -> EventQueryAnswer.Event {
        guard let category = Category(rawValue: row.text(3)) else {
            throw StorageError(.corrupt, "an event's category is unknown; restore a backup")
        }
        let code = row.int(4)
        return EventQueryAnswer.Event(
            eventID: try EventID(stored: row.blob(0)),
            source: row.text(1),
            id: row.text(2),
            category: category,
            state: state(code),
            reason: row.textOrNil(5) ?? reason(code),
            createdAt: UnixSeconds(row.int(6)),
            expiresAt: UnixSeconds(row.int(7)),
            written: row.int(8),
            skipped: try skipped(row.text(9))
        )
    }

    private static func state(_ code: Int64) -> EventState {
        switch code {
        case EventSchema.Code.unresolved: .unresolved
        case EventSchema.Code.fannedOut: .fannedOut
        case EventSchema.Code.expired: .expired
        case EventSchema.Code.suppressed: .suppressed
        default: .admitted
        }
    }

    /// What an open event waits for, and why an ended one ended.
    private static func reason(_ code: Int64) -> String? {
        switch code {
        case EventSchema.Code.awaitingWatermark: "waiting_for_registration"
        case EventSchema.Code.due: "waiting_for_fanout"
        case EventSchema.Code.handed: "at_fanout"
        case EventSchema.Code.unresolved: "waiting_for_decision"
        case EventSchema.Code.expired: "time_ended"
        default: nil
        }
    }
}
