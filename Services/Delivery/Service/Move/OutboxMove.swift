import Contracts
import DeliveryCore
import FoundationEssentials
import Storage

/// Moves an outbox from an SQLite file to a PostgreSQL database while no Delivery uses either.
///
/// Every page is one transaction in the target, and a row that is there already stays as it is, so a
/// move that was interrupted is simply begun again. Only when all rows are known to be there the file
/// is emptied, so that no row can be sent from both.
package struct OutboxMove: Sendable {
    private let source: SQLiteDatabase
    private let target: PostgreSQLDatabase

    /// What a move found and did.
    package struct Summary: Hashable, Sendable {
        package var events = 0
        package var rows: [ReceiptState: Int] = [:]
        /// Of the rows, those that the target had already.
        package var known = 0
        package var cleanups = 0

        package var total: Int { rows.values.reduce(0, +) }
    }

    private static let rowsPerPage = 1000

    /// Opens both, moves everything and closes both.
    ///
    /// Throws `alreadyRunning` when a Delivery uses the file or the database.
    package static func run(from path: String, to url: PostgreSQLURL) async throws -> Summary {
        guard FileManager.default.fileExists(atPath: path) else {
            throw StorageError(.cannotOpen, "there is no file \(path)")
        }
        var options = PostgreSQLDeliveryStore.options
        options.applicationName = "pushbus-migrate"
        options.connections = 1
        let target = try await PostgreSQLDatabase.open(
            url,
            migrations: PostgreSQLOutboxSchema.migrations,
            options: options
        )
        do {
            try await refuseUsers(of: target, url)
            let source = try await SQLiteDatabase.open(
                path: path,
                migrations: OutboxSchema.migrations
            )
            do {
                let summary = try await OutboxMove(source: source, target: target).move()
                await source.close()
                await target.close()
                return summary
            } catch {
                await source.close()
                throw error
            }
        } catch {
            await target.close()
            throw error
        }
    }

    private static func refuseUsers(
        of target: PostgreSQLDatabase,
        _ url: PostgreSQLURL
    ) async throws {
        let name = PostgreSQLDeliveryStore.options.applicationName
        let users = try await target.read { connection in
            try connection.first(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = $1
                """,
                [.text(name)]
            ) { $0.int(0) }
        }
        guard users == 0 else {
            throw StorageError(
                .alreadyRunning,
                "a pushbus-delivery is connected to \(url); stop it first"
            )
        }
    }

    private func move() async throws -> Summary {
        var summary = Summary()
        var after: Int64 = 0
        while let event = try await nextEvent(after: after) {
            try await move(event, &summary)
            summary.events += 1
            after = event.id
        }
        try await moveOrphans(&summary)
        let left = try await source.read { connection in
            try connection.first("SELECT count(*) FROM outbox") { Int($0.int(0)) }
        }
        guard left == summary.total else {
            throw StorageError(
                .corrupt,
                "the file has \(left ?? 0) rows, \(summary.total) were moved; nothing was removed. Some rows "
                    + "have no event: restore a backup"
            )
        }
        try await source.write { connection in
            for table in ["outbox", "envelope", "cleanup", "event"] {
                try connection.execute("DELETE FROM \(table)")
            }
        }
        try await source.checkpoint()
        return summary
    }

    private func nextEvent(after id: Int64) async throws -> MovedEvent? {
        try await source.read { connection in
            try connection.first(
                "SELECT \(MovedEvent.columns) FROM event WHERE id > $1 ORDER BY id LIMIT 1",
                [.int(id)],
                MovedEvent.init
            )
        }
    }

    private func move(_ event: MovedEvent, _ summary: inout Summary) async throws {
        let key = try await target.write { try event.write(on: $0) }
        var after = ""
        while true {
            let position = after
            let page = try await source.read { connection in
                try connection.query(
                    """
                    SELECT \(MovedRow.columns)
                    FROM outbox o LEFT JOIN envelope b ON b.row = o.id
                        LEFT JOIN cleanup c ON c.row = o.id
                    WHERE o.event = $1 AND o.installation > $2 ORDER BY o.installation LIMIT $3
                    """,
                    [.int(event.id), .text(position), .int(Self.rowsPerPage)],
                    MovedRow.init
                )
            }
            guard let last = page.last else { break }
            after = last.installation
            let added = try await target.write(rows: page.count) { connection in
                try MovedRow.write(page, event: key, now: connection.beganAt, on: connection)
            }
            summary.known += page.count - added
            summary.cleanups += page.count { $0.cleanup != nil }
            for row in page {
                guard let state = StateCode.state(row.state) else {
                    throw StorageError(.corrupt, "the file has a row of an unknown state")
                }
                summary.rows[state, default: 0] += 1
            }
        }
        try await target.write { try event.count(key, on: $0) }
    }

    /// Clean-ups whose rows were purged before Registration acknowledged them.
    private func moveOrphans(_ summary: inout Summary) async throws {
        let orphans = try await source.read { connection in
            try connection.query(
                """
                SELECT row, installation, binding, token_hash, kind, apns_timestamp, confirmed_at
                FROM cleanup WHERE row NOT IN (SELECT id FROM outbox)
                """
            ) { row in
                // The numbers of the target's rows are positive.
                [SQLValue.int(-row.int(0))] + (1...6).map { row[$0] }
            }
        }
        try await target.write(rows: orphans.count) { connection in
            for values in orphans {
                try connection.execute(
                    """
                    INSERT INTO cleanup (row, installation, binding, token_hash, kind, apns_timestamp,
                        confirmed_at)
                    VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (row) DO NOTHING
                    """,
                    values
                )
            }
        }
        summary.cleanups += orphans.count
    }
}
