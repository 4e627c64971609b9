import Storage

/// The tables of Registration, in the words of SQLite; ``Migration/forPostgreSQL`` has the others. Times are Unix seconds unless their name ends in `_ms`.
package enum RegistrationSchema {
    package static let migrations = [
        Migration(
            number: 1,
            name: "registration: accounts, sessions, installations, tests",
            statements: accounts + installations + tests + guardTables
        ),
        Migration(
            number: 2,
            name: "registration: proofs that end a session, access tokens that are forgotten",
            statements: sessionProofs + forgettableAccessTokens
        ),
        Migration(
            number: 3,
            name: "registration: one-time codes",
            statements: [
                "ALTER TABLE accounts ADD COLUMN totp_secret BLOB",
                "ALTER TABLE accounts ADD COLUMN totp_last_step INTEGER NOT NULL DEFAULT 0",
            ]
        ),
        Migration(number: 4, name: "registration: recovery of sessions", statements: recoveries),
        Migration(
            number: 5,
            name: "registration: generations of the store",
            statements: generation,
            postgreSQL: ["ALTER TABLE generation ADD COLUMN home TEXT"]
        ),
        Migration(
            number: 6,
            name: "registration: proofs in the order in which they came",
            statements: orderedProofs
        ),
    ]

    private static let generation = [
        """
        CREATE TABLE generation (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            number INTEGER NOT NULL,
            is_backup INTEGER NOT NULL
        ) STRICT
        """,
        "INSERT INTO generation (id, number, is_backup) VALUES (1, 0, 0)",
    ]

    private static let recoveries = [
        """
        CREATE TABLE recoveries (
            recovery_hash BLOB PRIMARY KEY NOT NULL,
            user_id TEXT NOT NULL,
            installation_id TEXT NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT
        """,
        "CREATE INDEX recoveries_by_user ON recoveries (user_id)",
    ]

    /// `kind` 0 is a proof that was asked for, 1 a refresh token that was used.
    private static let sessionProofs = [
        """
        CREATE TABLE session_proofs (
            proof_hash BLOB PRIMARY KEY NOT NULL,
            session_id TEXT NOT NULL,
            kind INTEGER NOT NULL
        ) STRICT
        """,
        "CREATE INDEX session_proofs_by_session ON session_proofs (session_id, kind)",
    ]

    private static let orderedProofs = [
        """
        CREATE TABLE session_proofs_2 (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            proof_hash BLOB NOT NULL UNIQUE,
            session_id TEXT NOT NULL,
            kind INTEGER NOT NULL
        ) STRICT
        """,
        """
        INSERT INTO session_proofs_2 (proof_hash, session_id, kind)
        SELECT proof_hash, session_id, kind FROM session_proofs
        """,
        "DROP TABLE session_proofs",
        "ALTER TABLE session_proofs_2 RENAME TO session_proofs",
        "CREATE INDEX session_proofs_by_session ON session_proofs (session_id, kind, seq)",
    ]

    private static let forgettableAccessTokens = [
        """
        CREATE TABLE sessions_2 (
            session_id TEXT PRIMARY KEY NOT NULL,
            user_id TEXT NOT NULL,
            installation_id TEXT NOT NULL,
            device_name TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            last_seen_at INTEGER NOT NULL,
            access_hash BLOB UNIQUE,
            access_expires_at INTEGER NOT NULL,
            refresh_hash BLOB NOT NULL UNIQUE
        ) STRICT
        """,
        """
        INSERT INTO sessions_2 (session_id, user_id, installation_id, device_name, created_at,
            expires_at, last_seen_at, access_hash, access_expires_at, refresh_hash)
        SELECT session_id, user_id, installation_id, device_name, created_at,
            expires_at, last_seen_at, access_hash, access_expires_at, refresh_hash FROM sessions
        """,
        "DROP TABLE sessions",
        "ALTER TABLE sessions_2 RENAME TO sessions",
        "CREATE INDEX sessions_by_installation ON sessions (installation_id, user_id)",
        "CREATE INDEX sessions_by_user ON sessions (user_id, created_at)",
        "CREATE INDEX sessions_by_end ON sessions (expires_at)",
        """
        CREATE INDEX sessions_by_access_end ON sessions (access_expires_at)
            WHERE access_hash IS NOT NULL
        """,
    ]

    private static let accounts = [
        """
        CREATE TABLE accounts (
            user_id TEXT PRIMARY KEY NOT NULL,
            username TEXT NOT NULL UNIQUE,
            password_hash TEXT NOT NULL,
            role TEXT NOT NULL,
            created_at INTEGER NOT NULL
        ) STRICT
        """,
        """
        CREATE TABLE pairing_codes (
            code_hash BLOB PRIMARY KEY NOT NULL,
            user_id TEXT NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT
        """,
        """
        CREATE TABLE sessions (
            session_id TEXT PRIMARY KEY NOT NULL,
            user_id TEXT NOT NULL,
            installation_id TEXT NOT NULL,
            device_name TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            last_seen_at INTEGER NOT NULL,
            access_hash BLOB NOT NULL UNIQUE,
            access_expires_at INTEGER NOT NULL,
            refresh_hash BLOB NOT NULL UNIQUE
        ) STRICT
        """,
        "CREATE INDEX sessions_by_installation ON sessions (installation_id, user_id)",
        "CREATE INDEX sessions_by_end ON sessions (expires_at)",
    ]

    private static let installations = [
        "CREATE TABLE binding_counter (id INTEGER PRIMARY KEY CHECK (id = 1), value INTEGER NOT NULL) STRICT",
        "INSERT INTO binding_counter (id, value) VALUES (1, 0)",
        """
        CREATE TABLE installations (
            installation_id TEXT PRIMARY KEY NOT NULL,
            user_id TEXT,
            revision INTEGER NOT NULL,
            binding INTEGER NOT NULL,
            bound_at_ms INTEGER NOT NULL,
            enabled INTEGER NOT NULL,
            alerts INTEGER NOT NULL,
            security INTEGER NOT NULL,
            task_failure INTEGER NOT NULL,
            task_success INTEGER NOT NULL,
            since_alerts INTEGER NOT NULL,
            since_security INTEGER NOT NULL,
            since_task_failure INTEGER NOT NULL,
            since_task_success INTEGER NOT NULL,
            session_id TEXT,
            deployment_id TEXT,
            device_token TEXT,
            environment TEXT,
            key_id TEXT,
            key_digest BLOB,
            sealed_key BLOB,
            confirmed_at_ms INTEGER,
            doubt TEXT
        ) STRICT
        """,
        """
        CREATE INDEX installations_by_token ON installations (device_token, environment)
            WHERE device_token IS NOT NULL
        """,
        """
        CREATE INDEX installations_by_session ON installations (session_id)
            WHERE session_id IS NOT NULL
        """,
        "CREATE INDEX installations_by_user ON installations (user_id, installation_id)",
    ]

    private static let tests = [
        """
        CREATE TABLE tests (
            event_id TEXT PRIMARY KEY NOT NULL,
            installation_id TEXT NOT NULL,
            session_id TEXT NOT NULL,
            revision INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            progress INTEGER NOT NULL,
            reason TEXT
        ) STRICT
        """,
        "CREATE INDEX tests_unsent ON tests (created_at) WHERE progress = 0",
        "CREATE INDEX tests_by_installation ON tests (installation_id, created_at)",
        "CREATE INDEX tests_by_age ON tests (created_at)",
    ]

    private static let guardTables = [
        """
        CREATE TABLE sender_totals (
            process_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            verdicts INTEGER NOT NULL,
            dead INTEGER NOT NULL,
            suspect INTEGER NOT NULL,
            topic INTEGER NOT NULL,
            seen_at_ms INTEGER NOT NULL,
            PRIMARY KEY (process_id, environment)
        ) STRICT
        """,
        """
        CREATE TABLE verdict_steps (
            environment TEXT NOT NULL,
            step INTEGER NOT NULL,
            verdicts INTEGER NOT NULL,
            failures INTEGER NOT NULL,
            PRIMARY KEY (environment, step)
        ) STRICT
        """,
    ]
}
