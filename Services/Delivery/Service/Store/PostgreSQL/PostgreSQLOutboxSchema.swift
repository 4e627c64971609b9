import Storage

/// Tables of the outbox on PostgreSQL.
///
/// They mean the same as those of SQLite. What changes with every commit of an event stands apart from
/// what never changes; `event` joins both for cold statements. `turn` is Int64.max for an event
/// without open rows, or with rows under suspicion only. The tables that live on updates and deletes
/// are vacuumed early, whatever the server's settings say.
enum PostgreSQLOutboxSchema {
    static let migrations = [
        Migration(
            number: 1,
            name: "delivery-1-outbox",
            statements: events + rows
        )
    ]

    private static let events = [
        """
        CREATE TABLE event_fixed (
            id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            event_id BYTEA NOT NULL UNIQUE,
            category TEXT NOT NULL,
            created_at BIGINT NOT NULL,
            expires_at BIGINT NOT NULL,
            watermark BIGINT NOT NULL
        )
        """,
        "CREATE INDEX event_age ON event_fixed (expires_at)",
        """
        CREATE TABLE event_count (
            event BIGINT PRIMARY KEY,
            expires_at BIGINT NOT NULL,
            turn BIGINT NOT NULL DEFAULT 9223372036854775807,
            first_row BIGINT NOT NULL DEFAULT 0,
            last_row BIGINT NOT NULL DEFAULT 0,
            open BIGINT NOT NULL DEFAULT 0,
            retryable BIGINT NOT NULL DEFAULT 0,
            accepted BIGINT NOT NULL DEFAULT 0,
            permanent BIGINT NOT NULL DEFAULT 0,
            expired BIGINT NOT NULL DEFAULT 0
        ) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0,
            autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0)
        """,
        "CREATE INDEX event_turn ON event_count (turn) WHERE turn < 9223372036854775807",
        "CREATE INDEX event_end ON event_count (expires_at) WHERE turn < 9223372036854775807",
        """
        CREATE VIEW event AS
        SELECT f.id, f.event_id, f.category, f.created_at, f.expires_at, f.watermark, c.turn,
            c.first_row, c.last_row, c.open, c.retryable, c.accepted, c.permanent, c.expired
        FROM event_fixed f JOIN event_count c ON c.event = f.id
        """,
    ]

    private static let rows = [
        """
        CREATE TABLE outbox (
            id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            event BIGINT NOT NULL,
            installation TEXT NOT NULL COLLATE "C",
            binding BIGINT NOT NULL,
            state SMALLINT NOT NULL,
            claims INTEGER NOT NULL,
            attempts BIGINT NOT NULL DEFAULT 0,
            generation BIGINT NOT NULL,
            due BIGINT NOT NULL,
            updated_at BIGINT NOT NULL,
            reason TEXT,
            UNIQUE (event, installation)
        ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0,
            autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_insert_scale_factor = 0,
            autovacuum_vacuum_insert_threshold = 100000, autovacuum_analyze_scale_factor = 0,
            autovacuum_analyze_threshold = 50000, autovacuum_vacuum_cost_delay = 0)
        """,
        "CREATE INDEX outbox_due ON outbox (event, due) WHERE state < 2 AND claims < 2",
        "CREATE INDEX outbox_lone ON outbox (due) WHERE state < 2 AND claims >= 2",
        """
        CREATE TABLE envelope (
            row BIGINT PRIMARY KEY,
            body BYTEA NOT NULL
        ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
            autovacuum_vacuum_cost_delay = 0)
        """,
        // Ciphertext does not get smaller.
        "ALTER TABLE envelope ALTER COLUMN body SET STORAGE EXTERNAL",
        """
        CREATE TABLE cleanup (
            row BIGINT PRIMARY KEY,
            installation TEXT NOT NULL,
            binding BIGINT NOT NULL,
            token_hash BYTEA NOT NULL,
            kind TEXT NOT NULL,
            apns_timestamp BIGINT,
            confirmed_at BIGINT NOT NULL
        )
        """,
    ]
}
