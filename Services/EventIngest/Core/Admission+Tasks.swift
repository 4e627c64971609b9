import Contracts

extension Admission {
    /// Notes what an event says about a task run; the one that completes it becomes its summary.
    static func record(
        _ record: AdmissionRecord,
        _ fact: TaskFact,
        _ facts: AdmissionFacts
    ) -> Admission {
        var record = record
        record.verdict = .noted
        if facts.task.isDone { return .record(record) }
        var task = facts.task
        task.run.apply(fact)
        if let outcome = task.run.outcome(of: fact) {
            task.isDone = true
            record.notification.content = outcome.content
            record.notification.audience = Audience(userID: outcome.owner)
            if let lateness = record.lifetime.lateness {
                (record.verdict, record.reason) = (.expired, lateness.rawValue)
            } else if facts.isFull {
                return .full
            } else {
                record.verdict = .admitted
            }
        }
        record.task = task
        return .record(record)
    }
}
