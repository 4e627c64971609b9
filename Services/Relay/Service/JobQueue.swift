/// First in, first out, with cheap ends.
struct JobQueue {
    private var jobs: [PushJob] = []
    private var head = 0

    var count: Int { jobs.count - head }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ job: PushJob) { jobs.append(job) }

    mutating func append(contentsOf more: [PushJob]) { jobs.append(contentsOf: more) }

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
