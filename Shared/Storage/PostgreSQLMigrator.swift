/// Brings a schema up to date, one process at a time.
struct PostgreSQLMigrator {
    let migrations: [Migration]

    /// Runs what is missing in one transaction under an advisory lock.
    ///
    /// Throws `newerSchema` when the schema knows more migrations than this program, `foreignSchema`
    /// when a recorded name differs.
    func run(on connection: PostgreSQLConnection, schema: String) throws {
        try MigrationRecord.checkNumbers(migrations)
        try connection.transaction {
            // The lock of another program's migration is worth waiting for.
            try connection.script(
                "SET LOCAL lock_timeout = '60s'; SET LOCAL statement_timeout = '60s'"
            )
            let key = "pushbus migrations of " + schema
            try connection.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
                [.text(key)]
            )
            let exists = try connection.first(
                "SELECT 1 FROM pg_namespace WHERE nspname = $1",
                [.text(schema)]
            ) { _ in true }
            if exists == nil { try connection.script("CREATE SCHEMA \(schema)") }
            try connection.script(
                """
                CREATE TABLE IF NOT EXISTS schema_migrations (
                    number BIGINT PRIMARY KEY,
                    name TEXT NOT NULL,
                    applied_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
                )
                """
            )
            let applied = try connection.query(
                "SELECT number, name FROM schema_migrations ORDER BY number"
            ) { MigrationRecord(number: Int($0.int(0)), name: $0.text(1)) }
            try MigrationRecord.check(applied, against: migrations)
            for migration in migrations.dropFirst(applied.count) {
                for statement in migration.statements { try connection.script(statement) }
                try connection.execute(
                    "INSERT INTO schema_migrations (number, name) VALUES ($1, $2)",
                    [.int(migration.number), .text(migration.name)]
                )
            }
        }
    }
}
