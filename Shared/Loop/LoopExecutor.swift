import Glibc
import Synchronization

/// One thread that runs jobs of actors and tasks, and waits with its backend in between.
///
/// It repeats: run the jobs queued so far, run due timers, let the backend wait and handle what is
/// ready. An actor is confined to the thread by returning `asUnownedSerialExecutor()` as its
/// executor; a task runs on it by executor preference (SE-0417). The thread keeps the executor
/// alive until `stop()`.
// Sendable by proof: `queue` is a lock box, `thread` an atomic, `timers` and `nextSequence` are
// touched on the loop thread only (checked by `preconditionCurrent`), the rest is constant.
package final class LoopExecutor: SerialExecutor, TaskExecutor, @unchecked Sendable {
    /// The name of the thread, for messages.
    package let name: String

    private let backend: any LoopBackend
    private let queue = Locked(Queue())
    private let thread = Atomic<UInt>(0)
    private let ended = Locked(Ending())
    private var timers = TimerHeap()
    private var nextSequence: UInt64 = 0

    private enum Work {
        case job(UnownedJob)
        case body(@Sendable () -> Void)
    }

    private struct Queue {
        var work: [Work] = []
        var asleep = false
        var stopping = false
        /// No thread is running: it ended after `stop()`.
        var idle = false
    }

    private struct Ending {
        var handle: pthread_t?
        var joining = false
        var joined = false
        var waiters: [ThreadGate] = []
    }

    /// Starts the thread; fails only when the system has no room for another one.
    package init(name: String, backend: any LoopBackend) throws(SystemCallError) {
        self.name = name
        self.backend = backend
        let handle = try startThread(name: name) { self.loop() }
        ended.withLock { $0.handle = handle }
    }

    /// Whether the caller is on the loop thread.
    package var isCurrent: Bool {
        thread.load(ordering: .acquiring) == UInt(pthread_self())
    }

    /// Traps unless the caller is on the loop thread.
    package func preconditionCurrent(file: StaticString = #fileID, line: UInt = #line) {
        precondition(
            isCurrent,
            "only the thread of loop \(name) may call this",
            file: file,
            line: line
        )
    }

    package func checkIsolated() {
        preconditionCurrent()
    }

    package func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        append(.job(UnownedJob(job)))
    }

    /// Runs a closure on the loop thread, after what is queued; may be called on any thread.
    package func execute(_ body: @escaping @Sendable () -> Void) {
        append(.body(body))
    }

    /// Calls the closure on the loop thread once the time has passed; loop thread only.
    @discardableResult
    package func schedule(
        after delay: Duration,
        _ body: @escaping @Sendable () -> Void
    ) -> LoopTimer {
        preconditionCurrent()
        let (sum, overflow) = loopNow().addingReportingOverflow(max(0, delay.clampedNanoseconds))
        let timer = LoopTimer(
            loop: self,
            deadline: overflow ? .max : sum,
            sequence: nextSequence,
            body: body
        )
        nextSequence += 1
        timers.insert(timer)
        return timer
    }

    func noteCancelledTimer() {
        timers.noteCancelled()
    }

    /// Runs what is queued, drops the timers, ends the thread and waits for its end.
    ///
    /// May be called more than once and from any thread; on the loop thread itself it returns at
    /// once. A job that comes later still runs, on a short-lived thread, so no task waits for ever.
    package func stop() {
        let wakes = queue.withLock { queue in
            queue.stopping = true
            defer { queue.asleep = false }
            return queue.asleep
        }
        if wakes { backend.wake() }
        if !isCurrent { join() }
    }

    private func join() {
        let gate = ThreadGate()
        let handle: pthread_t? = ended.withLock { ending in
            if ending.joined { return nil }
            if !ending.joining {
                ending.joining = true
                return ending.handle
            }
            ending.waiters.append(gate)
            return nil
        }
        if let handle {
            pthread_join(handle, nil)
            let waiters = ended.withLock { ending in
                ending.joined = true
                defer { ending.waiters = [] }
                return ending.waiters
            }
            for waiter in waiters { waiter.open() }
        } else if !ended.withLock({ $0.joined }) {
            gate.pass()
        }
    }

    private func append(_ work: sending Work) {
        enum Next { case nothing, wake, follow }
        let next = queue.withLock { queue -> Next in
            queue.work.append(work)
            if queue.idle {
                queue.idle = false
                return .follow
            }
            defer { queue.asleep = false }
            return queue.asleep ? .wake : .nothing
        }
        switch next {
        case .nothing: break
        case .wake: backend.wake()
        case .follow: follow()
        }
    }

    /// Runs late jobs once the thread has ended; one follow-up thread at a time.
    private func follow() {
        do {
            let handle = try startThread(name: name) { self.loop() }
            pthread_detach(handle)
        } catch {
            // No thread to be had at the very end of the process: run the jobs right here.
            loop()
        }
    }

    private func loop() {
        thread.store(UInt(pthread_self()), ordering: .releasing)
        var batch: [Work] = []
        while true {
            queue.withLock { swap(&$0.work, &batch) }
            for work in batch { run(work) }
            batch.removeAll(keepingCapacity: true)
            runDueTimers()

            enum Next { case end, look, wait }
            let next = queue.withLock { queue -> Next in
                if !queue.work.isEmpty { return .look }
                if queue.stopping { return .end }
                queue.asleep = true
                return .wait
            }
            switch next {
            case .end:
                // What goes with these may queue more work, so not under the lock.
                timers = TimerHeap()
                backend.end()
                if endsForGood() { return }
            case .look: backend.wait(atMost: .zero)
            case .wait:
                backend.wait(atMost: untilNextTimer())
                queue.withLock { $0.asleep = false }
            }
        }
    }

    /// Whether nothing came while the loop was being cleared; then nothing may touch it any more.
    private func endsForGood() -> Bool {
        queue.withLock { queue in
            guard queue.work.isEmpty else { return false }
            queue.idle = true
            thread.store(0, ordering: .releasing)
            return true
        }
    }

    private func run(_ work: Work) {
        switch work {
        case .job(let job):
            job.runSynchronously(
                isolatedTo: asUnownedSerialExecutor(),
                taskExecutor: asUnownedTaskExecutor()
            )
        case .body(let body): body()
        }
    }

    private func runDueTimers() {
        guard timers.earliest != nil else { return }
        // A fixed instant, so that timers which schedule timers do not keep the loop from waiting.
        let now = loopNow()
        while let timer = timers.popDue(at: now) { timer.take()?() }
    }

    private func untilNextTimer() -> Duration? {
        guard let earliest = timers.earliest else { return nil }
        return .nanoseconds(max(0, earliest - loopNow()))
    }
}
