import Contracts
import EventIngestCore
import EventIngestService
import TestKit
import Testing

/// 10,000 task runs whose facts come in any order and more than once.
@Suite struct TaskPropertyTests {
    @Test(arguments: PropertyPlan.all)
    func makesOneSummaryOfEachRun(_ plan: PropertyPlan) async throws {
        try await PropertyRun<TaskCase>.run(
            plan,
            jumps: [1, 100, 5000, 16_000]
        )
    }
}

private struct TaskCase: PropertyCase {
    enum Fact {
        case start
        case attempt(target: Int, number: Int, result: String, isFinal: Bool)
        case interrupted
    }

    let number: Int
    let isManual: Bool
    let targets: [String]
    let attempts = 2
    var facts: [Fact] = []
    var asked: [Fact] = []
    /// What is known, as the model keeps it.
    var hasStart = false
    var isBroken = false
    var results: [Int: (number: Int, result: String, isFinal: Bool)] = [:]
    var summary: NotificationContent?
    var admitted: Set<EventID> = []

    init(_ number: Int, _ random: inout SplitMix, _: PropertyPolicy) {
        self.number = number
        isManual = Bool.random(using: &random)
        targets = (0..<Int.random(in: 0...3, using: &random)).map { "t\($0)" }
        facts.append(.start)
        for target in targets.indices {
            var last = 1
            // A first attempt that is to be repeated, then the final one.
            if Bool.random(using: &random) {
                facts.append(.attempt(target: target, number: 1, result: "failed", isFinal: false))
                last = 2
            }
            let results = ["success", "success", "failed", "timeout", "offline", "denied"]
            let result = results.randomElement(using: &random) ?? "success"
            facts.append(.attempt(target: target, number: last, result: result, isFinal: true))
        }
        if Int.random(in: 0..<5, using: &random) == 0 { facts.append(.interrupted) }
        for fact in facts where Int.random(in: 0..<4, using: &random) == 0 { facts.append(fact) }
        facts.shuffle(using: &random)
    }

    private var run: String { "run \(number)" }

    mutating func next(_ random: inout SplitMix, now _: UnixMilliseconds) -> JSONValue? {
        guard !facts.isEmpty else { return nil }
        let fact = facts.removeFirst()
        asked.append(fact)
        // A repeat comes under an id of its own, or is a resend of the same event.
        let copy = Int.random(in: 0..<3, using: &random)
        let id = JSONValue.string("\(number) \(fact) \(copy)")
        let event =
            switch fact {
            case .start:
                EventSamples.taskStart(
                    targets,
                    run: run,
                    isManual: isManual,
                    attempts: Int64(attempts)
                )
            case .attempt(let target, let number, let result, let isFinal):
                EventSamples.taskAttempt(
                    targets[target],
                    result,
                    run: run,
                    attempt: Int64(number),
                    isFinal: isFinal
                )
            case .interrupted: EventSamples.taskEnd(.taskRunInterrupted, run: run)
            }
        guard var members = event.object else { return event }
        members["id"] = id
        return .object(members)
    }

    mutating func answered(
        _ admission: Admission,
        _: PropertyPolicy,
        now _: UnixMilliseconds
    ) {
        let fact = asked.removeFirst()
        guard case .record(let record) = admission else {
            if case .resent = admission { return }
            Issue.record("answered \(admission.result.status)")
            return
        }
        guard summary == nil else {
            #expect(record.verdict == .noted, "a second summary")
            return
        }
        learn(fact)
        summary = expected
        guard let summary else {
            #expect(record.verdict == .noted)
            return
        }
        #expect(record.verdict == .admitted)
        #expect(record.notification.content == summary)
        #expect(
            record.notification.audience == Audience(userID: UserID(isManual ? "alice" : "bob"))
        )
        admitted.insert(record.notification.eventID)
    }

    private mutating func learn(_ fact: Fact) {
        switch fact {
        case .start: hasStart = true
        case .interrupted: isBroken = true
        case .attempt(let target, let number, let result, let isFinal):
            if let old = results[target], old.number >= number { return }
            results[target] = (number, result, isFinal)
        }
    }

    /// The summary of what is known; nil while there is none.
    private var expected: NotificationContent? {
        let ended = targets.indices.compactMap { target -> String? in
            guard let one = results[target] else { return nil }
            let isOver = one.isFinal || one.result == "success" || one.number >= attempts
            return isOver ? one.result : nil
        }
        guard hasStart, isBroken || ended.count == targets.count else { return nil }
        func count(_ result: String) -> Int64 { Int64(ended.filter { $0 == result }.count) }
        let content = TaskRunContent(
            taskID: "backup",
            runID: run,
            total: Int64(targets.count),
            failed: count("failed"),
            timedOut: count("timeout"),
            offline: count("offline"),
            denied: count("denied")
        )
        let isSuccess = !isBroken && !targets.isEmpty && count("success") == targets.count
        return isSuccess ? .taskSuccess(content) : .taskFailure(content)
    }

    mutating func handed(_ event: EventAdmitted, isEnded _: (EventID) -> Bool) -> Bool {
        guard admitted.contains(event.eventID) else { return false }
        #expect(event.content == summary, "another summary than was committed")
        return true
    }

    func check(_: StoreWorld) async throws {
        #expect(summary != nil)
        #expect(admitted.count == 1)
    }
}
