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

    static func facts(_ connection: SQLiteConnection, _ id: EventID) throws -> TaskRunFacts {
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

    /// What is kept of a run that is done is that it is.
    static func save(
        _ connection: SQLiteConnection,
        _ task: TaskRunFacts,
        _ record: AdmissionRecord,
        _ candidate: EventCandidate
    ) throws {
        let body = task.isDone ? [] : [UInt8](try JSONEncoder().encode(task.run))
        try connection.execute(
            "INSERT OR REPLACE INTO task_runs VALUES ($1, $2, $3, $4, $5, $6)",
            [
                .blob(record.notification.eventID.bytes), .blob(body), .bool(task.isDone),
                .int(record.lifetime.createdAt.seconds), .text(orNull: candidate.publisher.name),
                .text(candidate.source),
            ]
        )
    }

    /// Ends the runs under way of a source that an integrator may no longer publish for.
    static func cancelRevoked(
        _ connection: SQLiteConnection,
        _ id: String,
        _ integrator: Integrator?
    ) throws -> Int64 {
        let runs = try connection.query(
            "SELECT rowid, source FROM task_runs WHERE is_done = 0 AND publisher = $1",
            [.text(id)]
        ) { row in (row: row.int(0), source: row.text(1)) }
        var count: Int64 = 0
        let type = EventType.taskAttemptFinished.rawValue
        for run in runs where !(integrator?.may(publish: type, from: run.source) ?? false) {
            try connection.execute(
                "UPDATE task_runs SET is_done = 1, body = x'' WHERE rowid = $1",
                [.int(run.row)]
            )
            count += 1
        }
        return count
    }
}
