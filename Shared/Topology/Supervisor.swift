import Glibc
import Loop
import ServiceKit

/// Starts processes, watches over them and ends them in reverse order; none is left behind.
///
/// Every process leads its own group, is signalled by its own id only and holds a lifeline to this
/// process (see `ChildProcess`), so it goes too when this one is killed.
package final class Supervisor: Sendable {
    private struct Entry {
        let plan: ProcessPlan
        var child: ChildProcess?
        var startedAt = MonotonicInstant(nanoseconds: 0)
        var lastStatus: ExitStatus?
        /// Counts starts, so that news of an earlier run is told apart.
        var run = 0
        var isReady = false
        /// Ends in a row without a sound run in between.
        var endsInARow = 0
        /// Someone asked for the end: no restart.
        var isStopping = false
        var exitWaiters: [UInt64: CheckedContinuation<ExitStatus?, Never>] = [:]
        var readyWaiters: [UInt64: CheckedContinuation<Bool, Never>] = [:]
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var order: [String] = []
        var nextID: UInt64 = 0
        var isClosed = false
    }

    /// A run of that length is sound.
    private static let soundRun = Duration.seconds(60)
    /// How often a ready file is looked for.
    private static let readyInterval = Duration.milliseconds(5)

    private let state = Locked(State())
    private let loop: LoopExecutor
    private let log: Log
    private let time: any TimeSource
    private let random: RandomSource

    /// A supervisor without processes.
    package init(
        log: Log,
        time: any TimeSource = SystemTime(),
        random: RandomSource = .system
    ) throws {
        self.log = log
        self.time = time
        self.random = random
        loop = try LoopExecutor(name: "supervisor", backend: ConditionBackend())
    }

    /// Takes processes in, in starting order, without starting them.
    package func add(_ plans: [ProcessPlan]) throws(TopologyError) {
        for plan in plans {
            let isNew = state.withLock { state in
                guard state.entries[plan.name] == nil else { return false }
                state.entries[plan.name] = Entry(plan: plan)
                state.order.append(plan.name)
                return true
            }
            if !isNew { throw TopologyError("there is a process named \(plan.name) already") }
        }
    }

    /// The names of all processes in starting order.
    package var names: [String] {
        state.withLock { $0.order }
    }

    /// Starts all processes that do not run.
    package func startAll() throws {
        for name in names where processID(of: name) == nil { try start(name) }
    }

    /// Starts one process that does not run.
    package func start(_ name: String) throws {
        let (plan, run) = try state.withLock { state -> (ProcessPlan, Int) in
            guard var entry = state.entries[name] else { throw Self.unknown(name) }
            guard entry.child == nil, !state.isClosed else {
                throw TopologyError("\(name) runs already or the supervisor has stopped")
            }
            entry.run += 1
            entry.isReady = false
            entry.isStopping = false
            state.entries[name] = entry
            return (entry.plan, entry.run)
        }
        if let file = plan.readyFile { unlink(file) }
        // Under the lock, so that an end cannot be told before the start is noted.
        let child = try state.withLock { state in
            let child = try ChildProcess(plan) { [weak self] status in
                self?.ended(name, run: run, status)
            }
            state.entries[name]?.child = child
            state.entries[name]?.startedAt = time.monotonic
            return child
        }
        log.debug("process started", ["process": .string(name), "child_pid": .int(child.pid)])
        look(name, run: run)
    }

    /// The id of the running process, nil when it does not run.
    package func processID(of name: String) -> Int32? {
        state.withLock { $0.entries[name]?.child?.pid }
    }

    /// How the last run ended, nil when none has.
    package func lastStatus(of name: String) -> ExitStatus? {
        state.withLock { $0.entries[name]?.lastStatus }
    }

    /// How often the process was started.
    package func starts(of name: String) -> Int {
        state.withLock { $0.entries[name]?.run ?? 0 }
    }

    /// The ports the process announced in its ready file, by listener.
    package func ports(of name: String) -> [String: UInt16] {
        guard let file = state.withLock({ $0.entries[name]?.plan.readyFile }) else { return [:] }
        return ReadyFile.ports(file) ?? [:]
    }

    /// Sends a signal to the process itself; false when it does not run.
    @discardableResult
    package func signal(_ name: String, _ signal: Int32) -> Bool {
        state.withLock { $0.entries[name]?.child }?.send(signal) ?? false
    }

    /// Kills the process with SIGKILL, as a power cut would, and waits until it is gone.
    ///
    /// It counts as an end nobody asked for: with a restart policy the process comes back.
    @discardableResult
    package func kill(_ name: String) async -> ExitStatus? {
        signal(name, SIGKILL)
        return await waitForExit(name)
    }

    /// Waits for the end of the present run; at once when it does not run, nil on cancellation.
    package func waitForExit(_ name: String) async -> ExitStatus? {
        let id = newID()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (now, status) = state.withLock { state -> (Bool, ExitStatus?) in
                    guard let entry = state.entries[name], entry.child != nil, !Task.isCancelled
                    else { return (true, state.entries[name]?.lastStatus) }
                    state.entries[name]?.exitWaiters[id] = continuation
                    return (false, nil)
                }
                if now { continuation.resume(returning: status) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.entries[name]?.exitWaiters.removeValue(forKey: id) }
            waiter?.resume(returning: nil)
        }
    }

    /// Waits until the present run is ready; false when it ends first or the task is cancelled.
    package func waitUntilReady(_ name: String) async -> Bool {
        let id = newID()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now = state.withLock { state -> Bool? in
                    guard let entry = state.entries[name] else { return false }
                    if entry.isReady { return true }
                    let stays = entry.plan.restart == .never || entry.lastStatus == .badSettings
                    if Task.isCancelled || (entry.child == nil && stays) { return false }
                    state.entries[name]?.readyWaiters[id] = continuation
                    return nil
                }
                if let now { continuation.resume(returning: now) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.entries[name]?.readyWaiters.removeValue(forKey: id) }
            waiter?.resume(returning: false)
        }
    }

    /// Waits until every process is ready; throws at once with the name of one that ended, or in
    /// the end with those that are not in time.
    package func waitUntilAllReady(within limit: Duration) async throws {
        enum News { case ready(String), ended(String), late }
        let time = time
        let names = names
        try await withThrowingTaskGroup(of: News.self) { group in
            for name in names {
                group.addTask { await self.waitUntilReady(name) ? .ready(name) : .ended(name) }
            }
            group.addTask {
                try await time.sleep(for: limit)
                return .late
            }
            defer { group.cancelAll() }
            var missing = Set(names)
            while !missing.isEmpty, let news = try await group.next() {
                switch news {
                case .ready(let name): missing.remove(name)
                case .ended(let name):
                    let status = lastStatus(of: name)?.description ?? "no start"
                    throw TopologyError(
                        "\(name) ended before it was ready (\(status)); see \(logPlace(name))"
                    )
                case .late:
                    let list = missing.sorted().joined(separator: ", ")
                    throw TopologyError("not ready within \(limit): \(list); see the log of each")
                }
            }
        }
    }

    private func logPlace(_ name: String) -> String {
        guard case .file(let path) = state.withLock({ $0.entries[name]?.plan.output }) else {
            return "its log"
        }
        return path
    }

    /// Asks one process to stop (SIGTERM) and kills it with its group when the grace is over.
    @discardableResult
    package func stop(_ name: String, grace: Duration = .seconds(15)) async -> ExitStatus? {
        let child = state.withLock { state -> ChildProcess? in
            state.entries[name]?.isStopping = true
            return state.entries[name]?.child
        }
        guard let child else { return lastStatus(of: name) }
        child.send(SIGTERM)
        let time = time
        let timer = Task {
            guard (try? await time.sleep(for: grace)) != nil else { return }
            log.warning("killed after its grace", ["process": .string(name)])
            child.sendToGroup(SIGKILL)
        }
        defer { timer.cancel() }
        // A task of its own: whoever stops must not leave the process behind when cancelled.
        return await Task { await waitForExit(name) }.value
    }

    /// Stops all processes, the last started first, each within its grace, and closes.
    package func stopAll(grace: Duration = .seconds(15)) async {
        state.withLock { state in
            state.isClosed = true
            for name in state.order { state.entries[name]?.isStopping = true }
        }
        for name in names.reversed() { await stop(name, grace: grace) }
        loop.stop()
    }
}

// MARK: - News from the processes

extension Supervisor {
    private static func unknown(_ name: String) -> TopologyError {
        TopologyError("there is no process named \(name)")
    }

    private func newID() -> UInt64 {
        state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
    }

    private func ended(_ name: String, run: Int, _ status: ExitStatus) {
        let now = time.monotonic
        let news = state.withLock { state -> (Entry, [CheckedContinuation<ExitStatus?, Never>])? in
            guard var entry = state.entries[name], entry.run == run else { return nil }
            entry.child = nil
            entry.isReady = false
            entry.lastStatus = status
            let isSound = entry.startedAt.duration(to: now) >= Self.soundRun
            entry.endsInARow = isSound ? 1 : entry.endsInARow + 1
            let waiters = Array(entry.exitWaiters.values)
            entry.exitWaiters = [:]
            state.entries[name] = entry
            return (entry, waiters)
        }
        guard let (entry, waiters) = news else { return }
        if let file = entry.plan.readyFile { unlink(file) }
        if !entry.isStopping {
            log.warning(
                "process ended unasked",
                [
                    "process": .string(name), "status": .text(status),
                    "see": .string(logPlace(name)),
                ]
            )
        }
        if case .always(let backoff) = entry.plan.restart, !entry.isStopping,
            status != .badSettings
        {
            restart(
                name,
                run: run,
                after: backoff.delay(attempt: entry.endsInARow - 1, random: random)
            )
        } else {
            resolveReady(name, false)
        }
        for waiter in waiters { waiter.resume(returning: status) }
    }

    private func restart(_ name: String, run: Int, after delay: Duration) {
        Task {
            guard (try? await time.sleep(for: delay)) != nil else { return }
            let isWanted = state.withLock { state in
                guard let entry = state.entries[name], !state.isClosed else { return false }
                return entry.run == run && !entry.isStopping && entry.child == nil
            }
            guard isWanted else { return resolveReady(name, false) }
            do {
                try start(name)
            } catch {
                log.error("restart failed", ["process": .string(name), "error": .error(error)])
                resolveReady(name, false)
            }
        }
    }

    /// Looks for the ready file until it is there or the run is over.
    private func look(_ name: String, run: Int) {
        loop.execute { [weak self] in
            guard let self else { return }
            let file = state.withLock { state -> String?? in
                guard let entry = state.entries[name], entry.run == run, entry.child != nil else {
                    return nil
                }
                return .some(entry.plan.readyFile)
            }
            guard let file else { return }
            if let file, access(file, F_OK) != 0 {
                loop.schedule(after: Self.readyInterval) { [weak self] in self?.look(name, run: run)
                }
                return
            }
            state.withLock { $0.entries[name]?.isReady = true }
            resolveReady(name, true)
        }
    }

    private func resolveReady(_ name: String, _ isReady: Bool) {
        let waiters = state.withLock { state in
            defer { state.entries[name]?.readyWaiters = [:] }
            return state.entries[name].map { Array($0.readyWaiters.values) } ?? []
        }
        for waiter in waiters { waiter.resume(returning: isReady) }
    }
}
