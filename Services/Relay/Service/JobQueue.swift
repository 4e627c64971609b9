/// What waits for a stream: messages of small and of large batches in a line each, which take turns,
/// so that a large audience does not hold up a message for one.
struct JobQueue {
    private var small = JobLine()
    private var large = JobLine()
    private var isTurnOfLarge = false

    var count: Int { small.count + large.count }
    var isEmpty: Bool { small.isEmpty && large.isEmpty }

    mutating func append(_ job: PushJob) {
        if job.isOfSmallBatch { small.append(job) } else { large.append(job) }
    }

    /// Puts a job back to where it came from.
    mutating func prepend(_ job: PushJob) {
        if job.isOfSmallBatch { small.prepend(job) } else { large.prepend(job) }
    }

    mutating func popFirst() -> PushJob? {
        isTurnOfLarge.toggle()
        if isTurnOfLarge { return small.popFirst() ?? large.popFirst() }
        return large.popFirst() ?? small.popFirst()
    }

    /// Takes out every job that matches.
    mutating func removeAll(where matches: (PushJob) -> Bool) -> [PushJob] {
        small.removeAll(where: matches) + large.removeAll(where: matches)
    }
}

/// First in, first out, with cheap ends.
private struct JobLine {
    private var jobs: [PushJob] = []
    private var head = 0

    var count: Int { jobs.count - head }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ job: PushJob) { jobs.append(job) }

    /// Puts a job back to where it came from.
    mutating func prepend(_ job: PushJob) {
        if head > 0 {
            head -= 1
            jobs[head] = job
        } else {
            jobs.insert(job, at: 0)
        }
    }

    mutating func popFirst() -> PushJob? {
        guard head < jobs.count else { return nil }
        let job = jobs[head]
        head += 1
        if head == jobs.count {
            jobs.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 1024 {
            jobs.removeFirst(head)
            head = 0
        }
        return job
    }

    /// Takes out every job that matches.
    mutating func removeAll(where matches: (PushJob) -> Bool) -> [PushJob] {
        let all = jobs[head...]
        let taken = all.filter(matches)
        guard !taken.isEmpty else { return [] }
        jobs = all.filter { !matches($0) }
        head = 0
        return taken
    }
}
