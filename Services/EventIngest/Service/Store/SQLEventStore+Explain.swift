import Contracts
import EventIngestCore
import FoundationEssentials
import Storage

extension SQLEventStore {
    package func explain(_ query: EventExplain) async throws -> EventExplainAnswer {
        try await database.read { connection in
            guard let id = try Self.eventID(connection, query) else {
                return EventExplainAnswer(eventID: nil)
            }
            let receptions = try connection.query(
                """
                SELECT source, id, verdict, received_at FROM received WHERE event_id = $1
                ORDER BY seq LIMIT $2
                """,
                [.blob(id.bytes), .int(EventExplainAnswer.receptions)]
            ) { row in
                EventExplainAnswer.Reception(
                    source: row.text(0),
                    id: row.text(1),
                    verdict: row.text(2),
                    receivedAt: UnixSeconds(row.int(3))
                )
            }
            let event = try connection.first(
                "SELECT \(Self.eventColumns) FROM events WHERE event_id = $1",
                [.blob(id.bytes)],
                Self.event
            )
            return EventExplainAnswer(
                eventID: id,
                receptions: receptions,
                event: event,
                course: try Self.course(connection, id),
                run: try TaskRunRows.run(connection, id)
            )
        }
    }

    private static func eventID(
        _ connection: Database.Connection,
        _ query: EventExplain
    ) throws -> EventID? {
        if let id = query.eventID { return id }
        return try connection.first(
            "SELECT event_id FROM received WHERE source = $1 AND id = $2",
            [.text(query.source ?? ""), .text(query.id ?? "")]
        ) { try EventID(stored: $0.blob(0)) }
    }

    private static func course(
        _ connection: Database.Connection,
        _ id: EventID
    ) throws -> EventExplainAnswer.Course? {
        let found = try connection.first(
            """
            SELECT occurred_at_ms, publisher, watermark, cursor, turn_at_ms, payload FROM events
            WHERE event_id = $1
            """,
            [.blob(id.bytes)]
        ) { row in
            EventExplainAnswer.Course(
                occurredAt: UnixMilliseconds(row.int(0)),
                publisher: row.textOrNil(1),
                watermark: row.intOrNil(2),
                cursor: row.textOrNil(3).map { InstallationID($0) },
                turnAt: row.intOrNil(4).map { UnixMilliseconds($0) },
                audience: row.blobOrNil(5).flatMap { EventPayload.decode($0)?.audience }
            )
        }
        guard var course = found else { return nil }
        course.waitsFor = try waitsFor(connection, id)
        return course
    }

    /// The open trigger of a recovery, or the oldest of the unresolved detections of a key.
    private static func waitsFor(
        _ connection: Database.Connection,
        _ id: EventID
    ) throws -> EventID? {
        try connection.first(
            """
            SELECT other.event_id FROM events AS own, events AS other WHERE own.event_id = $1
                AND own.state < 10 AND other.seq != own.seq AND (
                    (other.cycle = own.after_event AND other.state < 10)
                    OR (own.state = 5 AND other.state = 5 AND other.dedupe_key = own.dedupe_key
                        AND (other.occurred_at_ms, other.seq) < (own.occurred_at_ms, own.seq))
                )
            ORDER BY other.occurred_at_ms, other.seq LIMIT 1
            """,
            [.blob(id.bytes)]
        ) { try EventID(stored: $0.blob(0)) }
    }
}
