import Contracts
import RegistrationCore
import ServiceKit
import Storage

/// Registration's store in one SQLite file.
package struct SQLiteRegistrationStore: SQLRegistrationStore {
    let database: WatchedDatabase<SQLiteDatabase>
    /// SHA-256, which the rules take as a parameter.
    let hash: @Sendable ([UInt8]) -> [UInt8]

    /// Opens or creates the file at an absolute path; `condition` is told how its writes go.
    package static func open(
        path: String,
        options: SQLiteOptions = SQLiteOptions(),
        condition: StoreCondition = StoreCondition(Readiness()),
        hash: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) async throws(StorageError) -> Self {
        Self(
            database: WatchedDatabase(
                try await SQLiteDatabase.open(
                    path: path,
                    migrations: RegistrationSchema.migrations,
                    options: options
                ),
                condition
            ),
            hash: hash
        )
    }

    /// Closes the file; required.
    package func close() async { await database.close() }

    /// Asks one by one: a statement that is prepared once is the quickest way in one process.
    static func candidates(
        _ ids: [InstallationID],
        now: UnixSeconds,
        in connection: SQLiteConnection
    ) throws -> [InstallationCandidate?] {
        let statement = try connection.prepare(
            "\(InstallationCandidate.query) WHERE i.installation_id = $2"
        )
        return try ids.map { id in
            try statement.first(
                [.int(now.seconds), .text(id.text)],
                InstallationCandidate.init
            )
        }
    }

    /// The copy is marked before it gets its name.
    package func backup(to path: String) async throws -> Int64 {
        try await database.base.backup(to: path) { copy in
            try copy.execute("UPDATE generation SET is_backup = 1 WHERE id = 1")
        }
    }
}
