import Contracts
import EventIngestCore
import FoundationEssentials
import Storage

/// The task runs of an SQLite event store, each under the identity of its summary.
enum TaskRunRows {
    static let migration = Migration(
        number: 5,
        name: "eventingest_5_task_runs",
        statements: [
            """
            CREATE TABLE task_runs (
                event_id BLOB PRIMARY KEY,
                body BLOB NOT NULL,
                is_done INTEGER NOT NULL,
                updated_at INTEGER NOT NULL,
                publisher TEXT,
                source TEXT NOT NULL
            ) STRICT
            """,
            "CREATE INDEX task_runs_updated ON task_runs (updated_at)",
        ]
    )

    /// Who told what of a run under way, for a revocation that may still end it.
    static let publishers = Migration(
        number: 7,
        name: "eventingest_7_task_publishers",
        statements: [
            """
            CREATE TABLE task_publishers (
                event_id BLOB NOT NULL,
                publisher TEXT NOT NULL,
                type TEXT NOT NULL,
                PRIMARY KEY (event_id, publisher, type)
            ) STRICT, WITHOUT ROWID
            """,
            """
            INSERT INTO task_publishers SELECT event_id, publisher,
                'org.pushbus.task.attempt.finished.v1' FROM task_runs
            WHERE is_done = 0 AND publisher IS NOT NULL
            """,
        ]
    )

    static func facts(_ connection: some SQLConnection, _ id: EventID) throws -> TaskRunFacts {
        let row = try connection.first(
            "SELECT body, is_done FROM task_runs WHERE event_id = $1",
            [.blob(id.bytes)]
        ) { row in (body: row.blob(0), isDone: row.bool(1)) }
        var facts = TaskRunFacts()
        guard let row else { return facts }
        facts.isDone = row.isDone
        if !row.isDone {
            facts.run = try JSONDecoder().decode(TaskRun.self, from: Data(row.body))
        }
        return facts
    }

    /// How a run stands, for operators.
    static func run(
        _ connection: some SQLConnection,
        _ id: EventID
    ) throws -> EventExplainAnswer.Run? {
        let isKnown = try connection.first(
            "SELECT 1 FROM task_runs WHERE event_id = $1",
            [.blob(id.bytes)]
        ) { $0.bool(0) }
        guard isKnown ?? false else { return nil }
        let facts = try facts(connection, id)
        let progress = facts.run.progress
        return EventExplainAnswer.Run(
            isDone: facts.isDone,
            targets: progress.targets.map { Int64($0) },
            finished: Int64(progress.finished)
        )
    }

    /// What is kept of a run that is done is that it is.
    static func save(
        _ connection: some SQLConnection,
        _ task: TaskRunFacts,
        _ record: AdmissionRecord,
        _ candidate: EventCandidate
    ) throws {
        let body = task.isDone ? [] : [UInt8](try JSONEncoder().encode(task.run))
        try connection.execute(
            """
            INSERT INTO task_runs (event_id, body, is_done, updated_at, publisher, source)
            VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (event_id) DO UPDATE SET
                body = excluded.body, is_done = excluded.is_done,
                updated_at = excluded.updated_at, publisher = excluded.publisher,
                source = excluded.source
            """,
            [
                .blob(record.notification.eventID.bytes), .blob(body), .bool(task.isDone),
                .int(record.lifetime.createdAt.seconds), .text(orNull: candidate.publisher.name),
                .text(candidate.source),
            ]
        )
        let id = SQLValue.blob(record.notification.eventID.bytes)
        if task.isDone {
            try connection.execute("DELETE FROM task_publishers WHERE event_id = $1", [id])
        } else if let publisher = candidate.publisher.name {
            try connection.execute(
                "INSERT INTO task_publishers VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                [id, .text(publisher), .text(candidate.type)]
            )
        }
    }

    /// Ends the runs under way to which an integrator told what it may no longer publish.
    static func cancelRevoked(
        _ connection: some SQLConnection,
        _ id: String,
        _ integrator: Integrator?,
        now: UnixMilliseconds
    ) throws -> Int64 {
        let told = try connection.query(
            """
            SELECT runs.event_id, runs.source, told.type
            FROM task_publishers AS told, task_runs AS runs
            WHERE told.publisher = $1 AND runs.event_id = told.event_id AND runs.is_done = 0
            """,
            [.text(id)]
        ) { row in (run: row.blob(0), source: row.text(1), type: row.text(2)) }
        var ended: Set<[UInt8]> = []
        for fact in told
        where !(integrator?.may(publish: fact.type, from: fact.source) ?? false)
            && ended.insert(fact.run).inserted
        {
            try connection.execute(
                "UPDATE task_runs SET is_done = 1, body = $2 WHERE event_id = $1",
                [.blob(fact.run), .blob([])]
            )
            try connection.execute(
                "DELETE FROM task_publishers WHERE event_id = $1",
                [.blob(fact.run)]
            )
            try recordRevoked(connection, fact.run, source: fact.source, publisher: id, now: now)
        }
        return Int64(ended.count)
    }

    /// Leaves in the place of a run's summary why there is none.
    private static func recordRevoked(
        _ connection: some SQLConnection,
        _ run: [UInt8],
        source: String,
        publisher: String,
        now: UnixMilliseconds
    ) throws {
        let latest = try connection.first(
            "SELECT id FROM received WHERE event_id = $1 ORDER BY seq DESC LIMIT 1",
            [.blob(run)]
        ) { $0.text(0) }
        guard let latest else { return }
        let lifetime = Lifetime(time: nil, expirytime: nil, committedAt: now)
        try connection.execute(
            """
            INSERT INTO events (event_id, source, id, category, occurred_at_ms, created_at,
                expires_at, state, reason, holds, admitted, publisher)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING
            """,
            [
                .blob(run), .text(source), .text(latest), .text(Category.taskFailure.rawValue),
                .int(lifetime.occurredAt.milliseconds), .int(lifetime.createdAt.seconds),
                .int(lifetime.expiresAt.seconds), .int(EventSchema.Code.suppressed),
                .text(Suppression.principalRevoked.reason), .bool(false), .bool(false),
                .text(publisher),
            ]
        )
    }
}
