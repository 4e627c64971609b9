import Contracts
import DeliveryCore
import Loop
import ServiceKit
import Storage

/// The outbox in one SQLite file, owned by this process alone.
package final class SQLiteDeliveryStore: SQLDeliveryStore {
    let database: SQLiteDatabase
    private let time: any TimeSource
    private let limits: OutboxLimits
    /// Rows that have not ended; exact after each committed verb.
    let openRows: Locked<Int64>

    private init(
        database: SQLiteDatabase,
        time: any TimeSource,
        limits: OutboxLimits,
        openRows: Int64
    ) {
        self.database = database
        self.time = time
        self.limits = limits
        self.openRows = Locked(openRows)
    }

    /// Opens or creates the outbox at an absolute path; the time source is the store's clock.
    package static func open(
        path: String,
        time: any TimeSource,
        limits: OutboxLimits = OutboxLimits(),
        options: SQLiteOptions = SQLiteOptions()
    ) async throws -> SQLiteDeliveryStore {
        let database = try await SQLiteDatabase.open(
            path: path,
            migrations: OutboxSchema.migrations,
            options: options
        )
        do {
            let open = try await database.read {
                try $0.first("SELECT ifnull(sum(open), 0) FROM event WHERE open > 0") { $0.int(0) }
            }
            return SQLiteDeliveryStore(
                database: database,
                time: time,
                limits: limits,
                openRows: open ?? 0
            )
        } catch {
            await database.close()
            throw error
        }
    }

    /// Milliseconds of the store's clock.
    var now: Int64 { time.wall.milliseconds }

    package func close() async { await database.close() }

    /// Empties the WAL now; it happens by itself every few seconds.
    package func checkpoint() async throws -> Bool { try await database.checkpoint() }

    /// Runs a change and keeps the count of open rows; `body` returns its value and the difference.
    func change<Value: Sendable>(
        rows: Int,
        verb: StaticString = #function,
        _ body: @escaping @Sendable (SQLiteConnection) throws -> (Value, Int64)
    ) async throws -> Value {
        let (value, difference) = try await database.write(rows: rows, verb: verb, body)
        openRows.withLock { $0 += difference }
        return value
    }

    package func enqueue(
        _ batch: DeliveryEnqueue,
        leasing: Int,
        lease: Duration
    ) async throws -> EnqueueResult {
        guard openRows.withLock({ $0 }) + Int64(batch.records.count) <= limits.openRows else {
            throw StorageError(
                .full,
                "the outbox holds \(limits.openRows) waiting rows; send again later"
            )
        }
        let insertion = OutboxInsertion(
            batch: batch,
            leasing: leasing,
            now: now,
            leaseMilliseconds: lease.milliseconds
        )
        return try await change(rows: batch.records.count) { try insertion.run(on: $0) }
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
        let claim = OutboxClaim(now: now, leaseMilliseconds: lease.milliseconds)
        return try await database.write(rows: limit) { try claim.run(limit: limit, on: $0) }
    }

    package func claimAlone(lease: Duration) async throws -> ClaimedRow? {
        let claim = OutboxClaim(now: now, leaseMilliseconds: lease.milliseconds)
        return try await database.write { try claim.runAlone(on: $0) }
    }

    package func settle(_ outcomes: [RowOutcome]) async throws -> [SettleResult] {
        let settlement = OutboxSettlement(now: now)
        return try await change(rows: outcomes.count) { try settlement.run(outcomes, on: $0) }
    }

    package func expire(limit: Int) async throws -> Int {
        let sweep = OutboxSweep(now: now)
        return try await change(rows: limit) { try sweep.expire(limit: limit, on: $0) }
    }

    package func advance(
        _ rows: OutboxSelection,
        after: Int64?
    ) async throws -> RowsChanged {
        let administration = OutboxAdministration(rows: rows, after: after, now: now)
        return try await change(rows: 1000) { try administration.advance(on: $0) }
    }

    package func cancel(
        _ rows: OutboxSelection,
        after: Int64?
    ) async throws -> RowsChanged {
        let administration = OutboxAdministration(rows: rows, after: after, now: now)
        return try await change(rows: 1000) { try administration.cancel(on: $0) }
    }

    package func backup(to path: String) async throws -> Int64 {
        try await database.backup(to: path)
    }

    package func purge(retention: Duration, limit: Int) async throws -> Int {
        let sweep = OutboxSweep(now: now)
        return try await database.write(rows: limit) {
            try sweep.purge(retentionMilliseconds: retention.milliseconds, limit: limit, on: $0)
        }
    }

    package func recover() async throws -> Int {
        let sweep = OutboxSweep(now: now)
        return try await database.write { try sweep.recover(on: $0) }
    }
}

/// Bounds of an outbox.
package struct OutboxLimits: Sendable {
    /// Rows that have not ended; beyond them new work is refused with `full`.
    package var openRows: Int64

    package init(openRows: Int64 = 2_000_000) { self.openRows = openRows }
}

extension Duration {
    /// Whole milliseconds, held at the ends of the range.
    var milliseconds: Int64 { clampedNanoseconds / 1_000_000 }
}
