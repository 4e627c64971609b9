import Storage

/// Tables of the outbox on SQLite.
///
/// `outbox.due` is the lease end of a claimed row and the next attempt of a waiting one, never past the
/// event's end when waiting. `event.turn` is at most the earliest due time of the event's open rows, or
/// the time of its latest turn, whichever is later; ordering by it gives fair turns. Sealed bytes
/// have a table of their own, so that erasing them frees whole pages.
enum OutboxSchema {
    static let migrations = [
        Migration(
            number: 1,
            name: "delivery-1-outbox",
            statements: [
                """
                CREATE TABLE event (
                    id INTEGER PRIMARY KEY,
                    event_id BLOB NOT NULL UNIQUE,
                    category TEXT NOT NULL,
                    created_at INTEGER NOT NULL,
                    expires_at INTEGER NOT NULL,
                    watermark INTEGER NOT NULL,
                    turn INTEGER NOT NULL,
                    first_row INTEGER NOT NULL DEFAULT 0,
                    last_row INTEGER NOT NULL DEFAULT 0,
                    open INTEGER NOT NULL DEFAULT 0,
                    retryable INTEGER NOT NULL DEFAULT 0,
                    accepted INTEGER NOT NULL DEFAULT 0,
                    permanent INTEGER NOT NULL DEFAULT 0,
                    expired INTEGER NOT NULL DEFAULT 0
                ) STRICT
                """,
                "CREATE INDEX event_turn ON event (turn) WHERE open > 0",
                "CREATE INDEX event_end ON event (expires_at) WHERE open > 0",
                "CREATE INDEX event_age ON event (expires_at)",
                """
                CREATE TABLE outbox (
                    id INTEGER PRIMARY KEY,
                    event INTEGER NOT NULL,
                    installation TEXT NOT NULL,
                    binding INTEGER NOT NULL,
                    state INTEGER NOT NULL,
                    reason TEXT,
                    attempts INTEGER NOT NULL DEFAULT 0,
                    claims INTEGER NOT NULL,
                    generation INTEGER NOT NULL,
                    due INTEGER NOT NULL,
                    updated_at INTEGER NOT NULL,
                    UNIQUE (event, installation)
                ) STRICT
                """,
                """
                CREATE INDEX outbox_due ON outbox (event, due) WHERE state < 2 AND claims < 2
                """,
                "CREATE INDEX outbox_lone ON outbox (due) WHERE state < 2 AND claims >= 2",
                """
                CREATE TABLE envelope (
                    row INTEGER PRIMARY KEY,
                    body BLOB NOT NULL
                ) STRICT
                """,
                """
                CREATE TABLE cleanup (
                    row INTEGER PRIMARY KEY,
                    installation TEXT NOT NULL,
                    binding INTEGER NOT NULL,
                    token_hash BLOB NOT NULL,
                    kind TEXT NOT NULL,
                    apns_timestamp INTEGER,
                    confirmed_at INTEGER NOT NULL
                ) STRICT
                """,
            ]
        )
    ]
}
