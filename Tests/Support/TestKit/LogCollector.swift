import FoundationEssentials
import Loop
import ServiceKit

/// A log sink that keeps the lines, for tests that look at them or wait for one.
package final class LogCollector: Sendable {
    private struct Watcher {
        let id: UInt64
        let event: String
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var lines: [String] = []
        var watchers: [Watcher] = []
        var nextID: UInt64 = 0
    }

    private let state = Locked(State())

    package init() {}

    /// A log of the given level and clock which writes here.
    package func log(level: LogLevel = .debug, time: any TimeSource = SystemTime()) -> Log {
        Log(level: level, time: time, sink: sink)
    }

    /// The sink itself.
    package var sink: Log.Sink {
        { [self] bytes in append(String(decoding: bytes, as: UTF8.self)) }
    }

    /// All lines so far, each with its newline.
    package var lines: [String] {
        state.withLock { $0.lines }
    }

    /// The lines of one event.
    package func lines(of event: String) -> [String] {
        lines.filter { $0.contains(Self.mark(event)) }
    }

    /// Returns as soon as a line of that event was written, at once if there is one already, or when the
    /// task is cancelled.
    package func wait(for event: String) async {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now = state.withLock { state -> Bool in
                    if Task.isCancelled { return true }
                    if state.lines.contains(where: { $0.contains(Self.mark(event)) }) {
                        return true
                    }
                    state.watchers.append(
                        Watcher(id: id, event: event, continuation: continuation)
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

    private func append(_ line: String) {
        let satisfied = state.withLock { state -> [Watcher] in
            state.lines.append(line)
            let satisfied = state.watchers.filter { line.contains(Self.mark($0.event)) }
            state.watchers.removeAll { line.contains(Self.mark($0.event)) }
            return satisfied
        }
        for watcher in satisfied { watcher.continuation.resume() }
    }

    private static func mark(_ event: String) -> String {
        "\"event\":\"\(event)\""
    }
}
