import Contracts

extension EventSamples {
    static func taskStart(
        _ targets: [String],
        run: String = "r1",
        isManual: Bool = true,
        attempts: Int64 = 2
    ) -> JSONValue {
        task(
            .taskRunStarted,
            id: "start \(run)",
            run: run,
            [
                "trigger": .string(isManual ? "manual" : "automatic"),
                "initiator": .string("alice"), "creator": .string("bob"),
                "targets": .array(targets.map(JSONValue.string)),
                "maximum_attempts": .integer(attempts),
            ]
        )
    }

    static func taskAttempt(
        _ target: String,
        _ result: String,
        run: String = "r1",
        attempt: Int64 = 1,
        isFinal: Bool = true,
        id: String? = nil
    ) -> JSONValue {
        task(
            .taskAttemptFinished,
            id: id ?? "\(run) \(target) \(attempt)",
            run: run,
            [
                "target": .string(target), "attempt": .integer(attempt),
                "result": .string(result), "final": .bool(isFinal),
            ]
        )
    }

    static func taskEnd(_ type: EventType, run: String = "r1") -> JSONValue {
        task(type, id: "end \(run)", run: run, [:])
    }

    private static func task(
        _ type: EventType,
        id: String,
        run: String,
        _ more: [String: JSONValue]
    ) -> JSONValue {
        var data = more
        data["task_id"] = .string("backup")
        data["run_id"] = .string(run)
        return .object([
            "specversion": .string("1.0"), "id": .string(id), "source": .string("/tasks"),
            "type": .string(type.rawValue), "data": .object(data),
        ])
    }
}
