import Contracts
import RegistrationCore
import ServiceKit
import Storage

/// Registration's store in one schema of a PostgreSQL database, which one process alone writes to.
package struct PostgreSQLRegistrationStore: SQLRegistrationStore {
    let database: WatchedDatabase<PostgreSQLDatabase>
    let hash: @Sendable ([UInt8]) -> [UInt8]

    /// Connects and makes the schema `pushbus_registration` if it is not there; `condition` is told how writes go.
    ///
    /// Throws ``StorageError``, for example when another process owns the schema.
    package static func open(
        _ url: PostgreSQLURL,
        condition: StoreCondition = StoreCondition(Readiness()),
        hash: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) async throws(StorageError) -> Self {
        var options = PostgreSQLOptions(schema: "pushbus_registration", ownership: .exclusive)
        options.applicationName = "pushbus-registration"
        options.session = PostgreSQLOptions.indexedPlans
        return Self(
            database: WatchedDatabase(
                try await PostgreSQLDatabase.open(
                    url,
                    migrations: RegistrationSchema.migrations.map(\.forPostgreSQL),
                    options: options
                ),
                condition
            ),
            hash: hash
        )
    }

    /// Ends the connections; required.
    package func close() async { await database.close() }

    /// One statement for all: each way to the server costs more than finding a row.
    static func candidates(
        _ ids: [InstallationID],
        now: UnixSeconds,
        in connection: PostgreSQLConnection
    ) throws -> [InstallationCandidate?] {
        let names = ids.map(\.text)
        let found = try connection.query(
            "\(InstallationCandidate.query) WHERE i.installation_id = ANY($2)",
            arrays: [.value(.int(now.seconds)), .texts(names)],
            InstallationCandidate.init
        )
        let byName = Dictionary(found.map { ($0.installation.id.text, $0) }) { first, _ in first }
        return names.map { byName[$0] }
    }
}

extension PostgreSQLRegistrationStore {
    /// Where a store is: a dump that is read in again becomes another table, often in another cluster.
    private static let home =
        "(SELECT system_identifier FROM pg_control_system()) || '/' || tableoid"

    package func generation() async throws -> StoreGeneration {
        let found = try await database.read { connection in
            try connection.first(
                """
                SELECT number, home IS NOT NULL AND home <> \(Self.home)
                FROM generation WHERE id = 1
                """
            ) { StoreGeneration(number: $0.int(0), isBackup: $0.bool(1)) }
        }
        guard let found else {
            throw StorageError(.corrupt, "the generation is missing; restore a backup")
        }
        return found
    }

    static func markHome(in connection: PostgreSQLConnection) throws {
        try connection.execute("UPDATE generation SET home = \(home) WHERE id = 1")
    }

    /// Always refused: the server's own tools copy a database of a server.
    package func backup(to path: String) async throws -> Int64 {
        throw StorageError(
            .unsupported,
            "copy this store with pg_dump --schema=pushbus_registration; when the dump was read in again, "
                + "sessions end by themselves at the next start, or by pushbus registration renew"
        )
    }
}
