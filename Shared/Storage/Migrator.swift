/// Brings the schema of an exclusively owned file up to date.
struct Migrator {
    let migrations: [Migration]

    /// Runs what is missing, each migration in its own transaction.
    ///
    /// Throws `newerSchema` when the file knows more migrations than this program, `foreignSchema` when
    /// a recorded name differs.
    func run(on connection: SQLiteConnection) throws {
        try MigrationRecord.checkNumbers(migrations)
        try connection.script(
            """
            CREATE TABLE IF NOT EXISTS schema_migrations (
                number INTEGER PRIMARY KEY,
                name TEXT NOT NULL,
                applied_at INTEGER NOT NULL
            ) STRICT
            """
        )
        let applied = try connection.query(
            "SELECT number, name FROM schema_migrations ORDER BY number"
        ) { MigrationRecord(number: Int($0.int(0)), name: $0.text(1)) }
        try MigrationRecord.check(applied, against: migrations)
        for migration in migrations.dropFirst(applied.count) {
            try apply(migration, on: connection)
        }
    }

    private func apply(_ migration: Migration, on connection: SQLiteConnection) throws {
        try connection.transaction {
            for statement in migration.statements {
                try connection.script(statement)
            }
            try connection.execute(
                "INSERT INTO schema_migrations (number, name, applied_at) VALUES ($1, $2, unixepoch())",
                [.int(migration.number), .text(migration.name)]
            )
        }
    }
}
