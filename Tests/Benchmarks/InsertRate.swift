import Contracts
import FoundationEssentials
import Storage

/// What SQLite alone does: rows like those of the outbox through prepared statements, durable,
/// 512 in a transaction.
enum InsertRate {
    private static let batch = 512

    /// Rows a second.
    static func measure(rows: Int, bodyBytes: Int) async throws -> Double {
        let folder = try BenchDirectory.make()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let migration = Migration(
            number: 1,
            name: "bench",
            statements: [
                """
                CREATE TABLE row (
                    id INTEGER PRIMARY KEY, event INTEGER NOT NULL, installation TEXT NOT NULL,
                    UNIQUE (event, installation)
                ) STRICT
                """,
                "CREATE TABLE body (row INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT",
            ]
        )
        let database = try await SQLiteDatabase.open(
            path: "\(folder)/insert.sqlite",
            migrations: [migration]
        )
        let start = ContinuousClock.now
        for first in stride(from: 0, to: rows, by: batch) {
            try await database.write(rows: batch) { connection in
                let insertRow = try connection.prepare(
                    "INSERT INTO row (event, installation) VALUES ($1, $2)"
                )
                let insertBody = try connection.prepare(
                    "INSERT INTO body (row, body) VALUES ($1, $2)"
                )
                let body = [UInt8](repeating: 7, count: bodyBytes)
                for number in first..<first + batch {
                    try insertRow.run([1, .text("phone-\(number)")])
                    try insertBody.run([.int(connection.lastInsertedRow), .blob(body)])
                }
            }
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        await database.close()
        return Double(rows) / seconds
    }
}
