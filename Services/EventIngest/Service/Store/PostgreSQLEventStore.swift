import Contracts
import EventIngestCore
import ServiceKit
import Storage

/// The event store in one schema of a PostgreSQL database, which this process alone writes to.
package struct PostgreSQLEventStore: SQLEventStore {
    let database: PostgreSQLDatabase
    let limits: EventStoreLimits
    let rulings: PolicyRulings
    let cache = PolicyCache()
    private let clock: (any TimeSource)?

    /// Connects and makes the schema `pushbus_eventingest` if it is not there.
    ///
    /// The server's clock is the store's clock; `clock` takes its place in tests. Throws
    /// ``StorageError``, for example when another process owns the schema.
    package init(
        _ url: PostgreSQLURL,
        limits: EventStoreLimits = EventStoreLimits(),
        rulings: PolicyRulings = PolicyRulings(),
        clock: (any TimeSource)? = nil
    ) async throws(StorageError) {
        var options = PostgreSQLOptions(schema: "pushbus_eventingest", ownership: .exclusive)
        options.applicationName = "pushbus-eventingest"
        options.connections = 3
        options.session = PostgreSQLOptions.indexedPlans
        database = try await PostgreSQLDatabase.open(
            url,
            migrations: EventSchema.migrations.map(\.forPostgreSQL),
            options: options
        )
        self.limits = limits
        self.rulings = rulings
        self.clock = clock
    }

    func now(_ connection: PostgreSQLConnection) -> UnixMilliseconds {
        clock?.wall ?? UnixMilliseconds(connection.beganAt)
    }
}
