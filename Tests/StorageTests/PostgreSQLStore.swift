import ServiceKit
import Storage
import TestKit

/// A fresh database with one table, for one test.
struct PostgreSQLStore {
    let server: PostgreSQLServer
    let url: PostgreSQLURL

    static let migrations = [
        Migration(
            number: 1,
            name: "test-1",
            statements: [
                """
                CREATE TABLE item (
                    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                    name TEXT NOT NULL UNIQUE, body BYTEA
                )
                """
            ]
        )
    ]

    init(_ server: PostgreSQLServer? = nil) throws {
        self.server = try server ?? PostgreSQLServer.shared.get()
        url = try PostgreSQLURL(self.server.database())
    }

    static var options: PostgreSQLOptions {
        PostgreSQLOptions(schema: "pushbus_test", ownership: .shared)
    }

    func open(
        _ migrations: [Migration] = PostgreSQLStore.migrations,
        options: PostgreSQLOptions = PostgreSQLStore.options,
        time: any TimeSource = SystemTime()
    ) async throws -> PostgreSQLDatabase {
        try await PostgreSQLDatabase.open(
            url,
            migrations: migrations,
            options: options,
            time: time
        )
    }

    /// Opens a store, runs the body and closes it in every case.
    static func with<Value>(
        _ server: PostgreSQLServer? = nil,
        options: PostgreSQLOptions = PostgreSQLStore.options,
        time: any TimeSource = SystemTime(),
        _ body: (PostgreSQLStore, PostgreSQLDatabase) async throws -> Value
    ) async throws -> Value {
        let store = try PostgreSQLStore(server)
        let database = try await store.open(options: options, time: time)
        do {
            let value = try await body(store, database)
            await database.close()
            return value
        } catch {
            await database.close()
            throw error
        }
    }
}

extension SQLDatabase {
    func add(_ name: String) async throws {
        try await write {
            try $0.execute("INSERT INTO item (name) VALUES ($1)", [.text(name)])
        }
    }

    func allNames() async throws -> [String] {
        try await read { try $0.query("SELECT name FROM item ORDER BY name") { $0.text(0) } }
    }
}
