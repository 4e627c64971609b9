/// Brings the schema of an exclusively owned file up to date.
struct Migrator {
    let migrations: [Migration]

    /// Runs what is missing, each migration in its own transaction.
    ///
    /// Throws `newerSchema` when the file knows more migrations than this program, `foreignSchema` when
    /// a recorded name differs.
    func run(on connection: SQLiteConnection) throws {
        try checkNumbers()
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
        ) { (number: Int($0.int(0)), name: $0.text(1)) }
        try check(applied)
        for migration in migrations.dropFirst(applied.count) {
            try apply(migration, on: connection)
        }
    }

    private func checkNumbers() throws {
        for (index, migration) in migrations.enumerated() where migration.number != index + 1 {
            throw StorageError(.misuse, "migration \(migration.name) is out of order")
        }
    }

    private func check(_ applied: [(number: Int, name: String)]) throws {
        for (index, (recorded, known)) in zip(applied, migrations).enumerated() {
            guard recorded.number == index + 1, recorded.name == known.name else {
                throw StorageError(
                    .foreignSchema,
                    "the file records migration \(recorded.number) as \(recorded.name), this store knows "
                        + "\(known.name); point the setting at this store's own file"
                )
            }
        }
        guard applied.count <= migrations.count else {
            throw StorageError(
                .newerSchema,
                "the file has schema \(applied.count), this program knows \(migrations.count); start the "
                    + "newer program or restore a backup"
            )
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
