import Contracts
import EventIngestCore
import ServiceKit
import Storage

/// The event store on one SQLite file, owned by this process alone.
package struct SQLiteEventStore: EventStore {
    let database: SQLiteDatabase
    let time: any TimeSource
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

    package func close() async { await database.close() }

    /// Empties the write-ahead log, so that erased content is in no file any more.
    package func checkpoint() async throws { try await database.checkpoint() }

    package func admit(_ candidates: [EventCandidate]) async throws -> [Admission] {
        let ready = candidates
        let (time, openLimit, rulings, cache) = (time, limits.openEvents, rulings, cache)
        do {
            return try await database.write(rows: 2 * ready.count) { connection in
                let now = time.wall
                let policy = try cache.policy(connection)
                var room = openLimit
                room -= try Self.openCount(connection, atMost: openLimit)
                var admissions: [Admission] = []
                for candidate in ready {
                    var facts = try Self.facts(connection, about: candidate, now: now)
                    facts.isFull = room <= 0
                    facts.policy = policy
                    facts.unknownRules = rulings.unknownRules
                    facts.zones = rulings.zones
                    let admission = Admission(candidate, facts)
                    if case .record(let record) = admission {
                        try Self.write(connection, record, candidate)
                        if [.admitted, .unresolved].contains(record.verdict) { room -= 1 }
                    }
                    admissions.append(admission)
                }
                return admissions
            }
        } catch {
            cache.forget()
            throw error
        }
    }

    private static func openCount(
        _ connection: SQLiteConnection,
        atMost limit: Int
    ) throws -> Int {
        let count = try connection.first(
            "SELECT count(*) FROM (SELECT 1 FROM events WHERE state < 10 LIMIT $1)",
            [.int(limit)]
        ) { $0.int(0) }
        return Int(count ?? 0)
    }
}
