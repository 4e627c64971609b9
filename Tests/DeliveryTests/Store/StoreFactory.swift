import DeliveryService
import TestKit
import Testing

/// A kind of store that the conformance suite runs on.
struct StoreFactory: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Opens a store in a folder with a clock; opening again in the same folder finds the same rows.
    let open:
        @Sendable (TemporaryDirectory, ManualTime, OutboxLimits) async throws -> any DeliveryStore

    static let sqlite = StoreFactory(testDescription: "SQLite") { folder, time, limits in
        try await SQLiteDeliveryStore.open(
            path: folder.file("outbox.db"),
            time: time,
            limits: limits
        )
    }

    static let all = [sqlite]

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
