import Contracts
import EventIngestCore
import Storage

/// An event store in an SQL database that one process writes to.
protocol SQLEventStore: EventStore {
    associatedtype Database: SQLDatabase

    var database: Database { get }
    var limits: EventStoreLimits { get }
    var rulings: PolicyRulings { get }
    var cache: PolicyCache { get }

    /// The store's clock in the transaction of `connection`.
    func now(_ connection: Database.Connection) -> UnixMilliseconds
}

extension SQLEventStore {
    package func close() async { await database.close() }

    package func admit(
        _ candidates: [EventCandidate],
        watermark: Int64?,
        handingOut limit: Int
    ) async throws -> AdmittedEvents {
        let ready = candidates
        let (openLimit, rulings, cache) = (limits.openEvents, rulings, cache)
        do {
            return try await database.write(rows: 2 * ready.count) { connection in
                let now = now(connection)
                let policy = try cache.policy(connection)
                var room = openLimit
                room -= try Self.openCount(connection, atMost: openLimit)
                var admissions: [Admission] = []
                var isAnyDue = false
                let arrival = EventArrival(now: now, watermark: watermark)
                for candidate in ready {
                    var facts = try Self.facts(connection, about: candidate, now: now)
                    facts.isFull = room <= 0
                    facts.policy = policy
                    facts.unknownRules = rulings.unknownRules
                    facts.zones = rulings.zones
                    let admission = Admission(candidate, facts)
                    if case .record(let record) = admission {
                        try Self.write(connection, record, candidate, arrival)
                        if [.admitted, .unresolved].contains(record.verdict) { room -= 1 }
                        isAnyDue = isAnyDue || (record.verdict == .admitted && watermark != nil)
                    }
                    admissions.append(admission)
                }
                let orders =
                    isAnyDue ? try Self.handOut(connection, atMost: limit, now: now) : []
                return AdmittedEvents(admissions: admissions, orders: orders)
            }
        } catch {
            cache.forget()
            throw error
        }
    }

    private static func openCount(
        _ connection: Database.Connection,
        atMost limit: Int
    ) throws -> Int {
        let count = try connection.first(
            "SELECT count(*) FROM (SELECT 1 FROM events WHERE state < 10 LIMIT $1) AS found",
            [.int(limit)]
        ) { $0.int(0) }
        return Int(count ?? 0)
    }
}
