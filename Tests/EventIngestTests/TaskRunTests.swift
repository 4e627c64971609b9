import Contracts
import EventIngestCore
import Testing

/// What a run amounts to, whatever the order in which it is told.
@Suite struct TaskRunTests {
    private func fact(_ event: JSONValue) throws -> TaskFact {
        guard case .task(let fact) = try EventSamples.candidate(event).happening else {
            throw ContractViolation("", "no task")
        }
        return fact
    }

    private func outcome(_ events: JSONValue...) throws -> NotificationContent? {
        var run = TaskRun()
        var last: NotificationContent?
        for event in events {
            let fact = try fact(event)
            run.apply(fact)
            last = run.outcome(of: fact)?.content
        }
        return last
    }

    private func counts(_ total: Int64, failed: Int64 = 0, timedOut: Int64 = 0) -> TaskRunContent {
        TaskRunContent(
            taskID: "backup",
            runID: "r1",
            total: total,
            failed: failed,
            timedOut: timedOut,
            offline: 0,
            denied: 0
        )
    }

    @Test func isASuccessWhenEveryTargetSucceeded() throws {
        let (start, a, b) = (
            EventSamples.taskStart(["a", "b"]), EventSamples.taskAttempt("a", "success"),
            EventSamples.taskAttempt("b", "success")
        )
        #expect(try outcome(start, a) == nil)
        #expect(try outcome(a, b) == nil)
        #expect(try outcome(start, a, b) == .taskSuccess(counts(2)))
        #expect(try outcome(b, a, start) == .taskSuccess(counts(2)))
    }

    @Test func isAFailureWhenMixedEmptyOrBroken() throws {
        let (start, a, b) = (
            EventSamples.taskStart(["a", "b"]), EventSamples.taskAttempt("a", "success"),
            EventSamples.taskAttempt("b", "failed")
        )
        #expect(try outcome(start, a, b) == .taskFailure(counts(2, failed: 1)))
        #expect(try outcome(EventSamples.taskStart([])) == .taskFailure(counts(0)))
        for type in [EventType.taskRunInterrupted, .taskRunCancelled] {
            let end = EventSamples.taskEnd(type)
            #expect(try outcome(start, a, end) == .taskFailure(counts(2)))
            #expect(try outcome(a, end, start) == .taskFailure(counts(2)))
        }
    }

    @Test func waitsForTheFinalResult() throws {
        let start = EventSamples.taskStart(["a"], attempts: 3)
        let first = EventSamples.taskAttempt("a", "timeout", attempt: 1, isFinal: false)
        let second = EventSamples.taskAttempt("a", "failed", attempt: 2, isFinal: false)
        let third = EventSamples.taskAttempt("a", "timeout", attempt: 3, isFinal: false)
        #expect(try outcome(start, first, second) == nil)
        #expect(try outcome(start, third) == .taskFailure(counts(1, timedOut: 1)))
        #expect(try outcome(start, third, first) == .taskFailure(counts(1, timedOut: 1)))
        let won = EventSamples.taskAttempt("a", "success", attempt: 2, isFinal: false)
        #expect(try outcome(first, won, start) == .taskSuccess(counts(1)))
    }

    @Test func tellsTheInitiatorOrTheCreator() throws {
        for (isManual, owner) in [(true, "alice"), (false, "bob")] {
            var run = TaskRun()
            let start = try fact(EventSamples.taskStart([], isManual: isManual))
            run.apply(start)
            #expect(run.outcome(of: start)?.owner == UserID(owner))
        }
    }

    /// 10,000 runs told in random order, with repeats: the end is that of the plain account, and
    /// it is reached once every fact was told, never before the last one that decides.
    @Test func endsAlikeInAnyOrder() throws {
        var random = SplitMix(state: 6)
        let results = TaskRun.Result.allCases
        for _ in 0..<10_000 {
            let count = Int.random(in: 1...4, using: &random)
            let targets = (0..<count).map { "t\($0)" }
            var facts = [try fact(EventSamples.taskStart(targets, attempts: 9))]
            var final: [TaskRun.Result] = []
            for target in targets {
                let tries = Int64.random(in: 1...3, using: &random)
                for attempt in 1...tries {
                    let result =
                        attempt == tries
                        ? results.randomElement(using: &random) ?? .failed : .timeout
                    let event = EventSamples.taskAttempt(
                        target,
                        result.rawValue,
                        attempt: attempt,
                        isFinal: attempt == tries
                    )
                    facts.append(try fact(event))
                    if attempt == tries { final.append(result) }
                }
            }
            var told = facts + (0..<3).compactMap { _ in facts.randomElement(using: &random) }
            told.shuffle(using: &random)
            var run = TaskRun()
            var heard: Set<TaskFact> = []
            var outcome: NotificationContent?
            for fact in told {
                run.apply(fact)
                heard.insert(fact)
                outcome = run.outcome(of: fact)?.content ?? outcome
                if heard.count == facts.count { break }
            }
            let isSuccess = final.allSatisfy { $0 == .success }
            #expect(outcome?.category == (isSuccess ? .taskSuccess : .taskFailure))
            guard case .taskSuccess(let counts)? = outcome, isSuccess else {
                guard case .taskFailure(let counts)? = outcome else { continue }
                #expect(counts.failed == final.count { $0 == .failed })
                #expect(counts.timedOut == final.count { $0 == .timeout })
                #expect(counts.offline == final.count { $0 == .offline })
                #expect(counts.denied == final.count { $0 == .denied })
                continue
            }
            #expect(counts.total == count)
        }
    }
}
