import Contracts

/// What one event says about a task run.
package struct TaskFact: Hashable, Sendable {
    package var taskID: String
    package var runID: String
    package var news: News

    package enum News: Hashable, Sendable {
        case started(TaskRun.Start)
        case attempt(target: String, TaskRun.Attempt)
        case interrupted
        case cancelled
    }

    /// Most targets of one run.
    package static let targets = 512

    init(_ type: EventType, _ reader: DataReader) throws(ContractViolation) {
        taskID = try reader.identifier("task_id")
        runID = try reader.identifier("run_id")
        switch type {
        case .taskRunStarted: news = .started(try Self.start(reader))
        case .taskAttemptFinished:
            let name = try reader.identifier("result")
            guard let result = TaskRun.Result(rawValue: name) else {
                let known = TaskRun.Result.allCases.map(\.rawValue).joined(separator: ", ")
                throw ContractViolation("/data/result", "must be one of \(known)")
            }
            news = .attempt(
                target: try reader.identifier("target"),
                TaskRun.Attempt(
                    number: try reader.count("attempt"),
                    result: result,
                    isFinal: try reader.flag("final")
                )
            )
        case .taskRunInterrupted: news = .interrupted
        default: news = .cancelled
        }
    }

    private static func start(_ reader: DataReader) throws(ContractViolation) -> TaskRun.Start {
        let trigger = try reader.identifier("trigger")
        let owner: String
        switch trigger {
        case "manual": owner = try reader.identifier("initiator")
        case "automatic": owner = try reader.identifier("creator")
        default: throw ContractViolation("/data/trigger", "must be manual or automatic")
        }
        let targets = try reader.identifiers("targets")
        try ContractViolation.check(
            targets.count <= Self.targets && Set(targets).count == targets.count,
            "/data/targets",
            "must hold at most \(Self.targets) different targets"
        )
        return TaskRun.Start(
            owner: owner,
            targets: targets,
            maximumAttempts: try reader.count("maximum_attempts")
        )
    }
}
