import DeliveryService
import Loop
import Storage
import TestKit
import Testing

/// A kind of store that the conformance suite runs on.
struct StoreFactory: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Whether one process owns the store, so that what its former run held is free at once.
    let hasOneOwner: Bool
    /// Opens a store in a folder with a clock; opening again in the same folder finds the same rows.
    let open:
        @Sendable (TemporaryDirectory, ManualTime, OutboxLimits) async throws -> any DeliveryStore

    static let sqlite = StoreFactory(testDescription: "SQLite", hasOneOwner: true) {
        folder,
        time,
        limits in
        try await SQLiteDeliveryStore.open(
            path: folder.file("outbox.db"),
            time: time,
            limits: limits
        )
    }

    static let postgreSQL = StoreFactory(testDescription: "PostgreSQL", hasOneOwner: false) {
        folder,
        time,
        limits in
        try await PostgreSQLDeliveryStore.open(
            try databaseURL(for: folder),
            limits: limits,
            clock: time
        )
    }

    static let all = [sqlite, postgreSQL]

    private static let databases = Locked<[String: PostgreSQLURL]>([:])

    /// The database that stands for a folder, made when it is asked for the first time.
    private static func databaseURL(for folder: TemporaryDirectory) throws -> PostgreSQLURL {
        if let url = databases.withLock({ $0[folder.path] }) { return url }
        let url = try PostgreSQLURL(PostgreSQLServer.shared.get().database())
        databases.withLock { $0[folder.path] = url }
        return url
    }

    /// Opens a store with a manual clock and closes it in every case.
    func with<Value>(
        limits: OutboxLimits = OutboxLimits(),
        _ body: (any DeliveryStore, ManualTime) async throws -> Value
    ) async throws -> Value {
        let folder = try TemporaryDirectory()
        let time = ManualTime()
        let store = try await open(folder, time, limits)
        do {
            let value = try await body(store, time)
            await store.close()
            return value
        } catch {
            await store.close()
            throw error
        }
    }
}
