import Contracts
import Loop
import ServiceKit

/// Clocks that stand still until a test moves them.
package final class ManualTime: TimeSource {
    private struct Sleeper {
        let instant: MonotonicInstant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Watcher {
        let id: UInt64
        let isSatisfied: @Sendable ([MonotonicInstant]) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var wall: UnixMilliseconds
        var monotonic: MonotonicInstant
        var sleepers: [UInt64: Sleeper] = [:]
        var watchers: [Watcher] = []
        var nextID: UInt64 = 0

        /// When those who sleep want to be woken.
        var instants: [MonotonicInstant] { sleepers.values.map(\.instant) }

        mutating func takeSatisfiedWatchers() -> [Watcher] {
            let instants = instants
            let satisfied = watchers.filter { $0.isSatisfied(instants) }
            watchers.removeAll { $0.isSatisfied(instants) }
            return satisfied
        }
    }

    private let state: Locked<State>

    /// Starts both clocks at the given instants.
    package init(
        wall: UnixMilliseconds = UnixMilliseconds(1_800_000_000_000),
        monotonic: MonotonicInstant = MonotonicInstant(nanoseconds: 1_000_000_000)
    ) {
        state = Locked(State(wall: wall, monotonic: monotonic))
    }

    package var wall: UnixMilliseconds {
        state.withLock { $0.wall }
    }

    package var monotonic: MonotonicInstant {
        state.withLock { $0.monotonic }
    }

    /// How many tasks sleep right now.
    package var sleeperCount: Int {
        state.withLock { $0.sleepers.count }
    }

    /// Moves both clocks on and wakes the sleepers whose instant has come, earliest first.
    package func advance(by duration: Duration) {
        let due = state.withLock { state -> [Sleeper] in
            state.wall = state.wall.adding(
                milliseconds: duration.clampedNanoseconds / 1_000_000
            )
            state.monotonic = state.monotonic + duration
            let now = state.monotonic
            let due = state.sleepers.filter { $0.value.instant <= now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.sorted { $0.instant < $1.instant }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Lets the wall clock jump without any time passing.
    package func jumpWall(to instant: UnixMilliseconds) {
        state.withLock { $0.wall = instant }
    }

    /// Returns once at least that many tasks sleep, so that an `advance` is sure to meet them, or when
    /// the task is cancelled.
    package func waitForSleepers(_ count: Int = 1) async {
        await wait { $0.count >= count }
    }

    /// Returns once a task sleeps for that long from now, or when the task is cancelled.
    package func waitForSleeper(of duration: Duration) async {
        let instant = monotonic + duration
        await wait { $0.contains(instant) }
    }

    private func wait(until isSatisfied: @escaping @Sendable ([MonotonicInstant]) -> Bool) async {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now = state.withLock { state -> Bool in
                    if Task.isCancelled || isSatisfied(state.instants) { return true }
                    state.watchers.append(
                        Watcher(id: id, isSatisfied: isSatisfied, continuation: continuation)
                    )
                    return false
                }
                if now { continuation.resume() }
            }
        } onCancel: {
            let watcher = state.withLock { state -> Watcher? in
                guard let index = state.watchers.firstIndex(where: { $0.id == id }) else {
                    return nil
                }
                return state.watchers.remove(at: index)
            }
            watcher?.continuation.resume()
        }
    }

    package func sleep(until instant: MonotonicInstant) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                enum Answer { case sleeping([Watcher]), due, cancelled }
                let answer = state.withLock { state -> Answer in
                    if Task.isCancelled { return .cancelled }
                    if instant <= state.monotonic { return .due }
                    state.sleepers[id] = Sleeper(instant: instant, continuation: continuation)
                    return .sleeping(state.takeSatisfiedWatchers())
                }
                switch answer {
                case .sleeping(let watchers):
                    for watcher in watchers { watcher.continuation.resume() }
                case .due: continuation.resume()
                case .cancelled: continuation.resume(throwing: CancellationError())
                }
            }
        } onCancel: {
            let sleeper = state.withLock { $0.sleepers.removeValue(forKey: id) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}
