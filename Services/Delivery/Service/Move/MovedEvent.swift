import Storage

/// An event on its way from one store to another.
struct MovedEvent: Sendable {
    /// Its number in the source.
    let id: Int64
    private let eventID: [UInt8]
    private let category: String
    private let createdAt: Int64
    private let expiresAt: Int64
    private let watermark: Int64

    static let columns = "id, event_id, category, created_at, expires_at, watermark"

    init(_ row: SQLiteRow) {
        id = row.int(0)
        eventID = row.blob(1)
        category = row.text(2)
        createdAt = row.int(3)
        expiresAt = row.int(4)
        watermark = row.int(5)
    }

    /// Adds the event unless it is there, and returns its number in the target.
    func write(on connection: PostgreSQLConnection) throws -> Int64 {
        try connection.execute(
            """
            WITH made AS (
                INSERT INTO event_fixed (event_id, category, created_at, expires_at, watermark)
                VALUES ($1, $2, $3, $4, $5) ON CONFLICT (event_id) DO NOTHING RETURNING id
            )
            INSERT INTO event_count (event, expires_at) SELECT id, $4 FROM made
            """,
            [
                .blob(eventID), .text(category), .int(createdAt), .int(expiresAt), .int(watermark),
            ]
        )
        let found = try connection.first(
            "SELECT id FROM event_fixed WHERE event_id = $1",
            [.blob(eventID)]
        ) { $0.int(0) }
        guard let found else { throw StorageError(.other, "an event did not arrive; run it again") }
        return found
    }

    /// Counts the event's rows anew.
    func count(_ key: Int64, on connection: PostgreSQLConnection) throws {
        try connection.execute(
            """
            UPDATE event_count c SET open = r.open, retryable = r.retryable, accepted = r.accepted,
                permanent = r.permanent, expired = r.expired, first_row = r.first_row,
                last_row = r.last_row, turn = coalesce(r.turn, 9223372036854775807)
            FROM (
                SELECT count(*) FILTER (WHERE state < 2) AS open,
                    count(*) FILTER (WHERE state = 1) AS retryable,
                    count(*) FILTER (WHERE state = 2) AS accepted,
                    count(*) FILTER (WHERE state = 3) AS permanent,
                    count(*) FILTER (WHERE state = 4) AS expired,
                    min(due) FILTER (WHERE state < 2 AND claims < 2) AS turn,
                    coalesce(min(id), 0) AS first_row, coalesce(max(id), 0) AS last_row
                FROM outbox WHERE event = $1
            ) r WHERE c.event = $1
            """,
            [.int(key)]
        )
    }
}
