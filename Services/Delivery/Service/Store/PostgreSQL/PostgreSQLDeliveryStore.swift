import Contracts
import DeliveryCore
import Loop
import ServiceKit
import Storage

/// The outbox in a PostgreSQL database, shared by any number of Delivery processes.
///
/// The server's clock judges. A process that dies leaves its rows claimed until their leases lapse;
/// nothing else is known of processes, so they need no names and no order of starting.
package final class PostgreSQLDeliveryStore: SQLDeliveryStore {
    let database: PostgreSQLDatabase
    private let clock: (any TimeSource)?
    private let random: RandomSource
    private let limits: OutboxLimits
    private let openRows: Locked<OpenRows>

    /// Rows of all processes that have not ended, as this process last counted them.
    private struct OpenRows {
        var count: Int64 = 0
        /// The server's clock at the count, in milliseconds.
        var countedAt: Int64 = 0
    }

    /// How old a count may be, in milliseconds; what this process changed since is added to it.
    private static let countAge: Int64 = 1000

    private init(
        database: PostgreSQLDatabase,
        clock: (any TimeSource)?,
        random: RandomSource,
        limits: OutboxLimits
    ) {
        self.database = database
        self.clock = clock
        self.random = random
        self.limits = limits
        openRows = Locked(OpenRows())
    }

    /// Connects and brings the schema up to date; `clock` stands in for the server's clock in tests,
    /// `time` is for waiting.
    package static func open(
        _ url: PostgreSQLURL,
        limits: OutboxLimits = OutboxLimits(),
        clock: (any TimeSource)? = nil,
        time: any TimeSource = SystemTime(),
        random: RandomSource = .system,
        options: PostgreSQLOptions = PostgreSQLDeliveryStore.options
    ) async throws(StorageError) -> PostgreSQLDeliveryStore {
        PostgreSQLDeliveryStore(
            database: try await PostgreSQLDatabase.open(
                url,
                migrations: PostgreSQLOutboxSchema.migrations,
                options: options,
                time: time,
                random: random
            ),
            clock: clock,
            random: random,
            limits: limits
        )
    }

    /// Verbs are batches already, so each is a transaction of its own. Statements find their rows by
    /// index whatever the statistics of tables that fill and empty within seconds say.
    package static var options: PostgreSQLOptions {
        var options = PostgreSQLOptions(schema: "pushbus_delivery", ownership: .shared)
        options.applicationName = "pushbus-delivery"
        options.batchRequests = 1
        options.session = PostgreSQLOptions.indexedPlans
        return options
    }

    package func close() async { await database.close() }

    /// What the connections have done so far.
    package var statistics: PostgreSQLStatistics { database.statistics }

    /// Runs a change and keeps the count of open rows; `body` returns its value and the difference.
    private func change<Value: Sendable>(
        rows: Int,
        _ body: @escaping @Sendable (Int64, PostgreSQLConnection) throws -> (Value, Int64)
    ) async throws -> Value {
        let clock = clock
        let (value, difference) = try await database.write(rows: rows) { connection in
            try body(clock?.wall.milliseconds ?? connection.beganAt, connection)
        }
        openRows.withLock { $0.count += difference }
        return value
    }

    package func enqueue(
        _ batch: DeliveryEnqueue,
        leasing: Int,
        lease: Duration
    ) async throws -> EnqueueResult {
        let insertion = PostgreSQLInsertion(
            batch: batch,
            leasing: leasing,
            leaseMilliseconds: lease.milliseconds
        )
        let openRows = openRows
        let most = limits.openRows - Int64(batch.records.count)
        return try await change(rows: batch.records.count) { now, connection in
            let known = openRows.withLock { $0 }
            if known.count > most || abs(connection.beganAt - known.countedAt) > Self.countAge {
                try Self.count(into: openRows, on: connection)
            }
            guard openRows.withLock({ $0.count }) <= most else {
                throw StorageError(
                    .full,
                    "the outbox holds about \(most) waiting rows; send again later"
                )
            }
            return try insertion.run(now: now, on: connection)
        }
    }

    private static func count(
        into openRows: Locked<OpenRows>,
        on connection: PostgreSQLConnection
    ) throws {
        let count = try connection.first(
            """
            SELECT coalesce((SELECT sum(open) FROM event_count WHERE turn < 9223372036854775807), 0)
                + (SELECT count(*) FROM outbox WHERE state < 2 AND claims >= 2)
            """
        ) { $0.int(0) }
        let counted = OpenRows(count: count ?? 0, countedAt: connection.beganAt)
        openRows.withLock { $0 = counted }
    }

    package func claim(limit: Int, lease: Duration) async throws -> ClaimResult {
        guard limit > 0 else {
            return ClaimResult(
                rows: [],
                hasMore: false,
                hasLoneRow: false,
                nextDueMilliseconds: nil
            )
        }
        let claim = PostgreSQLClaim(
            leaseMilliseconds: lease.milliseconds,
            pauseMilliseconds: 5 + Int64(random.uniform(below: 20))
        )
        return try await change(rows: limit) { now, connection in
            (try claim.run(limit: limit, now: now, on: connection), 0)
        }
    }

    package func claimAlone(lease: Duration) async throws -> ClaimedRow? {
        let claim = PostgreSQLClaim(leaseMilliseconds: lease.milliseconds, pauseMilliseconds: 0)
        return try await change(rows: 1) { now, connection in
            (try claim.runAlone(now: now, on: connection), 0)
        }
    }

    package func settle(_ outcomes: [RowOutcome]) async throws -> [SettleResult] {
        let settlement = PostgreSQLSettlement(outcomes: outcomes)
        return try await change(rows: outcomes.count) { now, connection in
            try settlement.run(now: now, on: connection)
        }
    }

    package func expire(limit: Int) async throws -> Int {
        try await change(rows: limit) { now, connection in
            try PostgreSQLSweep().expire(limit: limit, now: now, on: connection)
        }
    }

    package func purge(retention: Duration, limit: Int) async throws -> Int {
        try await change(rows: limit) { now, connection in
            let removed = try PostgreSQLSweep().purge(
                retentionMilliseconds: retention.milliseconds,
                limit: limit,
                now: now,
                on: connection
            )
            return (removed, 0)
        }
    }

    package func advance(_ rows: OutboxSelection, after: Int64?) async throws -> RowsChanged {
        let administration = PostgreSQLAdministration(rows: rows, after: after)
        return try await change(rows: 5000) { now, connection in
            try administration.advance(now: now, on: connection)
        }
    }

    package func cancel(_ rows: OutboxSelection, after: Int64?) async throws -> RowsChanged {
        let administration = PostgreSQLAdministration(rows: rows, after: after)
        return try await change(rows: 5000) { now, connection in
            try administration.cancel(now: now, on: connection)
        }
    }

    package func backup(to path: String) async throws -> Int64 {
        throw StorageError(
            .unsupported,
            "this outbox is in PostgreSQL; back it up there, with pg_dump or a base backup"
        )
    }

    /// Nothing: other processes may be working, and leases lapse by themselves.
    package func recover() async throws -> Int { 0 }
}
