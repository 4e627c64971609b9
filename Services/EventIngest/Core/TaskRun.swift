import Contracts

/// What is known of a task run so far, whatever the order in which it was told.
package struct TaskRun: Hashable, Codable, Sendable {
    package struct Start: Hashable, Codable, Sendable {
        /// Who is told: the initiator of a manual run, the creator of an automatic one.
        package var owner: String
        package var targets: [String]
        package var maximumAttempts: Int64

        package init(owner: String, targets: [String], maximumAttempts: Int64) {
            self.owner = owner
            self.targets = targets
            self.maximumAttempts = maximumAttempts
        }
    }

    package enum Result: String, Codable, CaseIterable, Sendable {
        case success
        case failed
        case timeout
        case offline
        case denied
    }

    package struct Attempt: Hashable, Codable, Sendable {
        package var number: Int64
        package var result: Result
        /// Whether the target is not tried again.
        package var isFinal: Bool

        package init(number: Int64, result: Result, isFinal: Bool) {
            self.number = number
            self.result = result
            self.isFinal = isFinal
        }

        /// Of two reports about one target the later attempt counts; of one attempt a final one
        /// before one that is not, and then the one that comes last in the order of the results.
        func yields(to other: Attempt) -> Bool {
            if number != other.number { return number < other.number }
            if isFinal != other.isFinal { return other.isFinal }
            return rank < other.rank
        }

        private var rank: Int { Result.allCases.firstIndex(of: result) ?? 0 }
    }

    private var start: Start?
    private var attempts: [String: Attempt] = [:]
    /// Whether it was interrupted or cancelled.
    private var isBroken = false

    package init() {}

    /// Takes a fact; telling it again changes nothing.
    package mutating func apply(_ fact: TaskFact) {
        switch fact.news {
        case .started(let told): if start == nil { start = told }
        case .attempt(let target, let attempt):
            // A run of unknown targets is remembered within the bound of known ones.
            guard attempts[target] != nil || attempts.count < 2 * TaskFact.targets else { return }
            if attempts[target]?.yields(to: attempt) ?? true { attempts[target] = attempt }
        case .interrupted, .cancelled: isBroken = true
        }
    }

    /// How many targets it has, once that is known, and how many of them have their final result.
    package var progress: (targets: Int?, finished: Int) {
        (start?.targets.count, finalResults.count { $0 != nil })
    }

    /// The final result of each target, in the order of the targets; nil while it is open.
    private var finalResults: [Result?] {
        guard let start else { return [] }
        return start.targets.map { target in
            guard let attempt = attempts[target] else { return nil }
            let isFinal =
                attempt.isFinal || attempt.result == .success
                || attempt.number >= start.maximumAttempts
            return isFinal ? attempt.result : nil
        }
    }

    /// How it ended; nil while its start or the final result of a target is missing, unless it was
    /// interrupted or cancelled.
    ///
    /// It is a success only when it has targets and every one succeeded.
    package func outcome(of fact: TaskFact) -> (content: NotificationContent, owner: UserID)? {
        guard let start else { return nil }
        let results = finalResults.compactMap(\.self)
        guard isBroken || results.count == start.targets.count else { return nil }
        func count(_ result: Result) -> Int64 { Int64(results.count { $0 == result }) }
        let run = TaskRunContent(
            taskID: fact.taskID,
            runID: fact.runID,
            total: Int64(start.targets.count),
            failed: count(.failed),
            timedOut: count(.timeout),
            offline: count(.offline),
            denied: count(.denied)
        )
        let isSuccess =
            !isBroken && !start.targets.isEmpty && results.allSatisfy { $0 == .success }
        return (isSuccess ? .taskSuccess(run) : .taskFailure(run), UserID(start.owner))
    }
}

/// What the store knows about the run of a candidate.
package struct TaskRunFacts: Hashable, Sendable {
    package var run = TaskRun()
    /// Whether its summary was made, or nobody is to be told.
    package var isDone = false

    package init() {}
}
