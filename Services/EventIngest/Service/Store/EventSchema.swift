import Contracts
import EventIngestCore
import Storage

/// The tables of an event store, in the words of SQLite; ``Migration/forPostgreSQL`` has the others.
enum EventSchema {
    /// `received` remembers every published event; `events` holds the notifications that came of
    /// them. `state` is a ``Code``; `turn_at_ms` is when it is due or, while it is handed out, when
    /// the Fanout has been silent for too long; `holds` keeps the trigger of an open alert cycle.
    static let migrations = [
        Migration(
            number: 1,
            name: "eventingest_1_events",
            statements: [
                """
                CREATE TABLE received (
                    seq INTEGER PRIMARY KEY AUTOINCREMENT,
                    source TEXT NOT NULL,
                    id TEXT NOT NULL,
                    content_hash BLOB NOT NULL,
                    verdict TEXT NOT NULL,
                    event_id BLOB NOT NULL,
                    received_at INTEGER NOT NULL,
                    UNIQUE (source, id)
                ) STRICT
                """,
                """
                CREATE TABLE events (
                    seq INTEGER PRIMARY KEY AUTOINCREMENT,
                    event_id BLOB NOT NULL UNIQUE,
                    source TEXT NOT NULL,
                    id TEXT NOT NULL,
                    category TEXT NOT NULL,
                    occurred_at_ms INTEGER NOT NULL,
                    created_at INTEGER NOT NULL,
                    expires_at INTEGER NOT NULL,
                    state INTEGER NOT NULL,
                    reason TEXT,
                    turn_at_ms INTEGER,
                    watermark INTEGER,
                    cursor TEXT,
                    written INTEGER NOT NULL DEFAULT 0,
                    skipped TEXT NOT NULL DEFAULT '{}',
                    after_event BLOB,
                    holds INTEGER NOT NULL,
                    traceparent TEXT,
                    payload BLOB
                ) STRICT
                """,
                """
                CREATE INDEX events_unsettled ON events (seq) WHERE state = 0
                """,
                """
                CREATE INDEX events_turn ON events (turn_at_ms, seq) WHERE turn_at_ms IS NOT NULL
                """,
                """
                CREATE INDEX events_open ON events (expires_at) WHERE state < 10
                """,
                """
                CREATE INDEX events_ended ON events (created_at) WHERE state >= 10 AND holds = 0
                """,
                """
                CREATE INDEX events_after ON events (after_event) WHERE after_event IS NOT NULL
                """,
            ],
            postgreSQL: [
                // Each event is written several times within seconds: dead versions must not pile up
                // in the indexes of what is open, however many events are kept.
                """
                ALTER TABLE events SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0,
                    autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0)
                """
            ]
        ),
        PolicySchema.migration,
        PolicySchema.publishers,
        PolicySchema.detections,
        TaskRunRows.migration,
        Migration(
            number: 6,
            name: "eventingest_6_receptions",
            statements: ["CREATE INDEX received_event ON received (event_id)"]
        ),
        TaskRunRows.publishers,
    ]

    /// How ``Handoff/Phase`` is written; below 10 an event is open.
    enum Code {
        static let awaitingWatermark: Int64 = 0
        static let due: Int64 = 1
        static let handed: Int64 = 2
        static let unresolved: Int64 = 5
        static let fannedOut: Int64 = 10
        static let expired: Int64 = 11
        static let suppressed: Int64 = 12
    }
}

extension Handoff.Phase {
    var code: Int64 {
        switch self {
        case .awaitingWatermark: EventSchema.Code.awaitingWatermark
        case .due: EventSchema.Code.due
        case .handed: EventSchema.Code.handed
        case .fannedOut: EventSchema.Code.fannedOut
        case .expired: EventSchema.Code.expired
        }
    }

    var turn: UnixMilliseconds? {
        switch self {
        case .due(let instant), .handed(let instant): instant
        case .awaitingWatermark, .fannedOut, .expired: nil
        }
    }

    init(code: Int64, turn: Int64) {
        switch code {
        case EventSchema.Code.awaitingWatermark: self = .awaitingWatermark
        case EventSchema.Code.due: self = .due(UnixMilliseconds(turn))
        case EventSchema.Code.handed: self = .handed(UnixMilliseconds(turn))
        case EventSchema.Code.fannedOut: self = .fannedOut
        default: self = .expired
        }
    }
}
