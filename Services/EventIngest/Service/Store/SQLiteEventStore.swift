import Contracts
import EventIngestCore
import ServiceKit
import Storage

/// The event store on one SQLite file, owned by this process alone.
package struct SQLiteEventStore: SQLEventStore {
    let database: SQLiteDatabase
    private let time: any TimeSource
    let limits: EventStoreLimits
    let rulings: PolicyRulings
    let cache = PolicyCache()

    /// Opens or creates the file at an absolute path.
    ///
    /// The clock of `time` is the store's clock. Throws ``StorageError``, for example when another
    /// process owns the file.
    package init(
        path: String,
        time: any TimeSource,
        limits: EventStoreLimits = EventStoreLimits(),
        rulings: PolicyRulings = PolicyRulings(),
        options: SQLiteOptions = SQLiteOptions()
    ) async throws(StorageError) {
        database = try await SQLiteDatabase.open(
            path: path,
            migrations: EventSchema.migrations,
            options: options
        )
        self.time = time
        self.limits = limits
        self.rulings = rulings
    }

    func now(_ connection: SQLiteConnection) -> UnixMilliseconds { time.wall }

    /// Empties the write-ahead log, so that erased content is in no file any more.
    package func checkpoint() async throws { try await database.checkpoint() }
}
