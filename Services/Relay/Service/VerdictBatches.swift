import RelayCore

/// Collects the verdicts of each batch until they are delivered; touched on the pool's loop only.
struct VerdictBatches {
    typealias Completion = @Sendable ([(place: Int, verdict: RelayVerdict)]) -> Void

    private struct Batch {
        let completion: Completion
        var missing: Int
        var known: [(place: Int, verdict: RelayVerdict)] = []
    }

    private var batches: [UInt64: Batch] = [:]
    /// Batches with verdicts to deliver, in the order of their first one.
    private var waiting: [UInt64] = []
    private var next: UInt64 = 1

    /// Begins a batch of that many messages.
    mutating func open(_ count: Int, _ completion: @escaping Completion) -> UInt64 {
        defer { next += 1 }
        batches[next] = Batch(completion: completion, missing: count)
        return next
    }

    mutating func add(_ verdict: RelayVerdict, to batch: UInt64, at place: Int) {
        guard batches[batch] != nil else { return }
        batches[batch]?.known.append((place, verdict))
        if batches[batch]?.known.count == 1 { waiting.append(batch) }
    }

    /// Gives out what is known; a batch ends with its last verdict.
    mutating func deliver() {
        let ready = waiting
        waiting = []
        for id in ready {
            guard var batch = batches.removeValue(forKey: id) else { continue }
            let known = batch.known
            batch.known = []
            batch.missing -= known.count
            if batch.missing > 0 { batches[id] = batch }
            batch.completion(known)
        }
    }
}
