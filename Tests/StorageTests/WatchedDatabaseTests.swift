import ServiceKit
import Storage
import TestKit
import Testing

/// A database that says how its writes go.
@Suite struct WatchedDatabaseTests {
    private static let migrations = [
        Migration(
            number: 1,
            name: "rows",
            statements: ["CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT NOT NULL)"]
        )
    ]

    @Test func onlyWhatTheNextWriteWouldMeetTooCountsAsAFailure() async throws {
        let directory = try TemporaryDirectory()
        var options = SQLiteOptions()
        options.maximumPages = 24
        let readiness = Readiness()
        let condition = StoreCondition(readiness)
        let database = WatchedDatabase(
            try await SQLiteDatabase.open(
                path: directory.file("rows.db"),
                migrations: Self.migrations,
                options: options
            ),
            condition
        )
        @Sendable func add(_ id: Int64, _ text: String) async throws {
            try await database.write { connection in
                try connection.execute(
                    "INSERT INTO rows VALUES ($1, $2)",
                    [.int(id), .text(text)]
                )
            }
        }
        try await add(1, "a")
        let twice = await #expect(throws: StorageError.self) { try await add(1, "b") }
        #expect(twice?.kind == .constraint)
        #expect(readiness.isReady)
        let large = String(repeating: "x", count: 200_000)
        let full = await #expect(throws: StorageError.self) { try await add(2, large) }
        #expect(full?.kind == .full)
        #expect(!readiness.isReady)
        try await add(3, "c")
        #expect(readiness.isReady)
        await database.close()
        await #expect(throws: StorageError.self) { try await add(4, "d") }
        #expect(readiness.isReady)
    }
}
