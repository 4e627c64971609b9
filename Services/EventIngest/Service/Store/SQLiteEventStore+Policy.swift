import Contracts
import EventIngestCore
import FoundationEssentials
import Loop
import ServiceKit
import Storage

extension SQLiteEventStore {
    /// Most bytes of items in one answer, so that it fits a message of the bus.
    private static let answerBytes = BusLimits.messageBytes / 2

    package func change(
        _ change: PolicyChange,
        by person: String
    ) async throws -> PolicyChangeAnswer {
        var bodies: [(key: PolicyKey, body: [UInt8]?)] = change.remove.map { ($0, nil) }
        for item in change.put {
            if let key = item.key { bodies.append((key, try Self.encode(item))) }
        }
        let (time, entries) = (time, bodies)
        do {
            return try await database.write(rows: 2 * entries.count) { connection in
                var changed: Int64 = 0
                var cancelled: Int64 = 0
                for (key, body) in entries {
                    let isNew = try Self.put(
                        connection,
                        key,
                        body,
                        by: person,
                        at: time.wall.second
                    )
                    if isNew { changed += 1 }
                    if isNew, key.kind == .integrator {
                        let integrator = try body.map { try Self.decode($0) }?.integrator
                        cancelled += try Self.cancelRevoked(connection, key.id, integrator)
                        cancelled += try TaskRunRows.cancelRevoked(connection, key.id, integrator)
                    }
                }
                return PolicyChangeAnswer(changed: changed, cancelled: cancelled)
            }
        } catch {
            cache.forget()
            throw error
        }
    }

    package func policy(_ query: PolicyQuery) async throws -> PolicyQueryAnswer {
        try await database.read { connection in
            let rows = try connection.query(
                """
                SELECT body, changed_at, changed_by FROM policy WHERE kind = $1 AND id > $2
                ORDER BY id LIMIT $3
                """,
                [.text(query.kind.rawValue), .text(query.after ?? ""), .int(query.limit + 1)]
            ) { row in (body: row.blob(0), at: row.int(1), by: row.text(2)) }
            var bytes = 0
            let fitting = rows.prefix(query.limit).prefix { row in
                bytes += row.body.count
                return bytes <= Self.answerBytes || bytes == row.body.count
            }
            return PolicyQueryAnswer(
                entries: try fitting.map { row in
                    .init(
                        item: try Self.decode(row.body),
                        changedAt: UnixSeconds(row.at),
                        changedBy: row.by
                    )
                },
                more: fitting.count < rows.count
            )
        }
    }

    package func integrators() async throws -> IntegratorsInForce {
        try await database.read { connection in
            let items = try connection.query(
                "SELECT body FROM policy WHERE kind = $1",
                [.text(PolicyKind.integrator.rawValue)]
            ) { row in try Self.decode(row.blob(0)).integrator }
            return IntegratorsInForce(
                state: try PolicyCache.state(connection),
                integrators: items.compactMap(\.self)
            )
        }
    }

    package func audit(_ query: AuditQuery) async throws -> AuditQueryAnswer {
        try await database.read { connection in
            let rows = try connection.query(
                """
                SELECT number, at, by, kind, id, body FROM audit WHERE number < $1
                ORDER BY number DESC LIMIT $2
                """,
                [.int(query.before ?? .max), .int(query.limit)]
            ) { row in
                AuditQueryAnswer.Entry(
                    number: row.int(0),
                    at: UnixSeconds(row.int(1)),
                    by: row.text(2),
                    key: PolicyKey(try Self.kind(row.text(3)), row.text(4)),
                    item: try row.blobOrNil(5).map { try Self.decode($0) }
                )
            }
            var bytes = 0
            return AuditQueryAnswer(
                entries: Array(
                    try rows.prefix { entry in
                        bytes += try entry.item.map { try Self.encode($0).count } ?? 0
                        return bytes <= Self.answerBytes || entry.number == rows.first?.number
                    }
                )
            )
        }
    }

    private static func put(
        _ connection: SQLiteConnection,
        _ key: PolicyKey,
        _ body: [UInt8]?,
        by person: String,
        at instant: UnixSeconds
    ) throws -> Bool {
        let name: [SQLValue] = [.text(key.kind.rawValue), .text(key.id)]
        let old = try connection.first(
            "SELECT body FROM policy WHERE kind = $1 AND id = $2",
            name
        ) { $0.blob(0) }
        guard old != body else { return false }
        if let body {
            try connection.execute(
                "INSERT OR REPLACE INTO policy VALUES ($1, $2, $3, $4, $5)",
                name + [.blob(body), .int(instant.seconds), .text(person)]
            )
        } else {
            try connection.execute("DELETE FROM policy WHERE kind = $1 AND id = $2", name)
        }
        try connection.execute(
            "INSERT INTO audit (kind, id, at, by, body) VALUES ($1, $2, $3, $4, $5)",
            name + [.int(instant.seconds), .text(person), .blob(orNull: body)]
        )
        return true
    }

    private static func kind(_ text: String) throws -> PolicyKind {
        guard let kind = PolicyKind(rawValue: text) else {
            throw StorageError(.corrupt, "a policy item's kind is unknown; restore a backup")
        }
        return kind
    }

    private static func encode(_ item: PolicyItem) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return [UInt8](try encoder.encode(item))
    }

    static func decode(_ body: [UInt8]) throws -> PolicyItem {
        do {
            return try JSONDecoder().decode(PolicyItem.self, from: Data(body))
        } catch {
            throw StorageError(.corrupt, "a policy item cannot be read; restore a backup")
        }
    }
}

/// The policy as it was last read, kept for as long as nobody changes it.
///
/// The number of the last change names a state of the policy: it is read in the same transaction,
/// and a failed write, which could give a number away twice, empties the cache.
final class PolicyCache: Sendable {
    private struct State {
        var number: Int64
        var policy: Policy
    }

    private let state = Locked<State?>(nil)

    func forget() { state.withLock { $0 = nil } }

    /// The number of the last change.
    static func state(_ connection: SQLiteConnection) throws -> Int64 {
        try connection.first("SELECT max(number) FROM audit") { $0.intOrNil(0) ?? 0 } ?? 0
    }

    /// The policy that is in force in the transaction of `connection`.
    func policy(_ connection: SQLiteConnection) throws -> Policy {
        let current = try Self.state(connection)
        if let known = state.withLock({ $0 }), known.number == current { return known.policy }
        let items = try connection.query("SELECT body FROM policy ORDER BY kind, id") { row in
            try SQLiteEventStore.decode(row.blob(0))
        }
        let policy = Policy(items)
        state.withLock { $0 = State(number: current, policy: policy) }
        return policy
    }
}
