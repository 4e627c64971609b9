import Contracts
import EventIngestCore
import FoundationEssentials
import Loop
import ServiceKit
import Storage

extension SQLEventStore {
    /// Most bytes of items in one answer, so that it fits a message of the bus.
    private static var answerBytes: Int { BusLimits.messageBytes / 2 }

    package func change(
        _ change: PolicyChange,
        by person: String
    ) async throws -> PolicyChangeAnswer {
        var bodies: [(key: PolicyKey, body: [UInt8]?)] = change.remove.map { ($0, nil) }
        for item in change.put {
            if let key = item.key { bodies.append((key, try item.storedBytes())) }
        }
        let entries = bodies
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
                        at: now(connection).second
                    )
                    if isNew { changed += 1 }
                    if isNew, key.kind == .integrator {
                        let integrator = try body.map { try PolicyItem.stored($0) }?.integrator
                        cancelled += try Self.cancelRevoked(connection, key.id, integrator)
                        cancelled += try TaskRunRows.cancelRevoked(
                            connection,
                            key.id,
                            integrator,
                            now: now(connection)
                        )
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
                        item: try PolicyItem.stored(row.body),
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
            ) { row in try PolicyItem.stored(row.blob(0)).integrator }
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
                    item: try row.blobOrNil(5).map { try PolicyItem.stored($0) }
                )
            }
            var bytes = 0
            return AuditQueryAnswer(
                entries: Array(
                    try rows.prefix { entry in
                        bytes += try entry.item.map { try $0.storedBytes().count } ?? 0
                        return bytes <= Self.answerBytes || entry.number == rows.first?.number
                    }
                )
            )
        }
    }

    private static func put(
        _ connection: Database.Connection,
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
                """
                INSERT INTO policy (kind, id, body, changed_at, changed_by)
                VALUES ($1, $2, $3, $4, $5) ON CONFLICT (kind, id) DO UPDATE SET
                    body = excluded.body, changed_at = excluded.changed_at,
                    changed_by = excluded.changed_by
                """,
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

}
