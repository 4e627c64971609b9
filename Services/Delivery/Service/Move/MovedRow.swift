import Storage

/// A row of an outbox on its way from one store to another.
struct MovedRow: Sendable {
    struct Cleanup: Sendable {
        var tokenHash: [UInt8]
        var kind: String
        var apnsTimestamp: Int64?
        var confirmedAt: Int64
    }

    let installation: String
    let state: Int64
    let cleanup: Cleanup?
    private let binding: Int64
    private let reason: String?
    private let attempts: Int64
    private let claims: Int64
    private let generation: Int64
    private let due: Int64
    private let updatedAt: Int64
    private let body: [UInt8]?

    static let columns = """
        o.installation, o.state, o.binding, o.reason, o.attempts, o.claims, o.generation, o.due,
        o.updated_at, b.body, c.token_hash, c.kind, c.apns_timestamp, c.confirmed_at
        """

    init(_ row: SQLiteRow) {
        installation = row.text(0)
        state = row.int(1)
        binding = row.int(2)
        reason = row.textOrNil(3)
        attempts = row.int(4)
        claims = row.int(5)
        generation = row.int(6)
        due = row.int(7)
        updatedAt = row.int(8)
        body = row.blobOrNil(9)
        cleanup =
            row.isNull(10)
            ? nil
            : Cleanup(
                tokenHash: row.blob(10),
                kind: row.text(11),
                apnsTimestamp: row.intOrNil(12),
                confirmedAt: row.int(13)
            )
    }

    /// Adds the rows that are not there yet and makes sure that all are; returns how many were added.
    ///
    /// A claimed row is due at once: whoever held it is gone.
    static func write(
        _ rows: [MovedRow],
        event: Int64,
        now: Int64,
        on connection: PostgreSQLConnection
    ) throws -> Int {
        let added = try connection.query(
            """
            INSERT INTO outbox (event, installation, binding, state, reason, attempts, claims,
                generation, due, updated_at)
            SELECT $1, r.* FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10) AS r
            ON CONFLICT (event, installation) DO NOTHING RETURNING installation, id
            """,
            arrays: [
                .value(.int(event)), .texts(rows.map(\.installation)), .ints(rows.map(\.binding)),
                .ints(rows.map(\.state)), .texts(rows.map(\.reason)), .ints(rows.map(\.attempts)),
                .ints(rows.map(\.claims)), .ints(rows.map(\.generation)),
                .ints(rows.map { $0.claims > 0 ? min($0.due, now) : $0.due }),
                .ints(rows.map(\.updatedAt)),
            ]
        ) { ($0.text(0), $0.int(1)) }
        let ids = Dictionary(added) { first, _ in first }
        let new = rows.compactMap { row in ids[row.installation].map { (id: $0, row: row) } }
        try writeBodies(new.filter { $0.row.body != nil }, on: connection)
        try writeCleanups(new, on: connection)
        try verify(rows, event: event, on: connection)
        return new.count
    }

    private static func writeBodies(
        _ rows: [(id: Int64, row: MovedRow)],
        on connection: PostgreSQLConnection
    ) throws {
        try connection.execute(
            "INSERT INTO envelope (row, body) SELECT * FROM unnest($1, $2)",
            arrays: [.ints(rows.map(\.id)), .blobs(rows.map(\.row.body))]
        )
    }

    private static func writeCleanups(
        _ rows: [(id: Int64, row: MovedRow)],
        on connection: PostgreSQLConnection
    ) throws {
        let notes = rows.compactMap { id, row in row.cleanup.map { (id: id, row: row, note: $0) } }
        guard !notes.isEmpty else { return }
        try connection.execute(
            """
            INSERT INTO cleanup
                (row, installation, binding, token_hash, kind, apns_timestamp, confirmed_at)
            SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (row) DO NOTHING
            """,
            arrays: [
                .ints(notes.map(\.id)), .texts(notes.map(\.row.installation)),
                .ints(notes.map(\.row.binding)), .blobs(notes.map(\.note.tokenHash)),
                .texts(notes.map(\.note.kind)), .ints(notes.map(\.note.apnsTimestamp)),
                .ints(notes.map(\.note.confirmedAt)),
            ]
        )
    }

    /// Every row is there, and every open one has its ciphertext.
    private static func verify(
        _ rows: [MovedRow],
        event: Int64,
        on connection: PostgreSQLConnection
    ) throws {
        let there = try connection.query(
            """
            SELECT count(*), count(*) FILTER (WHERE o.state < 2 AND b.row IS NULL)
            FROM outbox o LEFT JOIN envelope b ON b.row = o.id
            WHERE o.event = $1 AND o.installation = ANY($2)
            """,
            arrays: [.value(.int(event)), .texts(rows.map(\.installation))]
        ) { (rows: Int($0.int(0)), bare: Int($0.int(1))) }.first
        let bare = rows.count { $0.state < 2 && $0.body == nil }
        guard let there, there.rows == rows.count, there.bare <= bare else {
            throw StorageError(
                .other,
                "of \(rows.count) rows \(there?.rows ?? 0) arrived; the file is as it was. Run it again"
            )
        }
    }
}
