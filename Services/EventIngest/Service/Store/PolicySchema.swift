import Storage

/// The tables of the policy, and what alert cycles need of the events.
enum PolicySchema {
    /// `policy` holds the items in force, `audit` every change of them. In `events`, `cycle` is the
    /// first notification of the alert cycle a trigger belongs to, and `admitted` is 1 when it was
    /// to notify somebody.
    static let publishers = Migration(
        number: 3,
        name: "eventingest_3_publishers",
        statements: [
            // Who published it and as what, for events that a revocation may still cancel.
            "ALTER TABLE events ADD COLUMN publisher TEXT",
            "ALTER TABLE events ADD COLUMN type TEXT",
        ]
    )

    /// `silences` holds when the latest detection of a dedupe key happened that a rule matched;
    /// unresolved events keep their detection for the next decision.
    static let detections = Migration(
        number: 4,
        name: "eventingest_4_detections",
        statements: [
            """
            CREATE TABLE silences (
                dedupe_key BLOB PRIMARY KEY,
                last_at_ms INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID
            """,
            "ALTER TABLE events ADD COLUMN dedupe_key BLOB",
            "ALTER TABLE events ADD COLUMN detection BLOB",
            """
            CREATE INDEX events_unresolved ON events (occurred_at_ms, seq) WHERE state = 5
            """,
        ]
    )

    static let migration = Migration(
        number: 2,
        name: "eventingest_2_policy",
        statements: [
            """
            CREATE TABLE policy (
                kind TEXT NOT NULL,
                id TEXT NOT NULL,
                body BLOB NOT NULL,
                changed_at INTEGER NOT NULL,
                changed_by TEXT NOT NULL,
                PRIMARY KEY (kind, id)
            ) STRICT, WITHOUT ROWID
            """,
            """
            CREATE TABLE audit (
                number INTEGER PRIMARY KEY AUTOINCREMENT,
                at INTEGER NOT NULL,
                by TEXT NOT NULL,
                kind TEXT NOT NULL,
                id TEXT NOT NULL,
                body BLOB
            ) STRICT
            """,
            "ALTER TABLE events ADD COLUMN cycle BLOB",
            "ALTER TABLE events ADD COLUMN admitted INTEGER NOT NULL DEFAULT 1",
            """
            UPDATE events SET cycle = event_id WHERE category = 'alert' AND after_event IS NULL
            """,
            """
            UPDATE events SET admitted = 0 WHERE reason IN ('too_old', 'expirytime_passed')
            """,
            "CREATE INDEX events_cycle ON events (cycle) WHERE cycle IS NOT NULL",
        ]
    )
}
