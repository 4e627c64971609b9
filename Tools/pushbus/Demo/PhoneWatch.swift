import Commands
import Contracts
import FoundationEssentials
import Glibc
import Loop
import ServiceKit

/// Listens to what a simulated phone says, through a named pipe that its output goes to.
final class PhoneWatch: Sendable {
    /// One JSON line of the phone.
    struct Line: Sendable {
        var event: String
        var at: UnixMilliseconds
        var eventID: EventID?
        var title: String
        var body: String
        var tap: String?
        /// The generic text was shown instead of the content.
        var isGeneric: Bool
        var message: String
    }

    private struct Waiter {
        var isWanted: @Sendable (Line) -> Bool
        var continuation: CheckedContinuation<Line?, Never>
    }

    private struct State {
        var lines: [Line] = []
        var hasEnded = false
        var waiters: [UInt64: Waiter] = [:]
        var nextID: UInt64 = 0
    }

    let phone: String
    /// The pipe, which the phone's output is to be directed to.
    let pipe: String
    private let descriptor: Int32
    private let state = Locked(State())
    private let onLine: @Sendable (Line) -> Void

    /// Makes the pipe; `onLine` is called for each line as it comes.
    init(
        phone: String,
        pipe: String,
        onLine: @escaping @Sendable (Line) -> Void
    ) throws(CommandFailure) {
        self.phone = phone
        self.pipe = pipe
        self.onLine = onLine
        // Non-blocking until there is a writer, so that the writer's own opening does not block.
        guard mkfifo(pipe, 0o600) == 0 else {
            throw CommandFailure("\(pipe) cannot be made", exitCode: ExitCode.files)
        }
        descriptor = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw CommandFailure("\(pipe) cannot be opened", exitCode: ExitCode.files)
        }
    }

    /// Reads until the phone has ended; to be called once, after the phone was started.
    func startReading() throws(SystemCallError) {
        _ = fcntl(descriptor, F_SETFL, O_RDONLY)
        try DetachedThread.start(name: "watch \(phone)") { self.read() }
    }

    /// Everything the phone has said so far.
    var lines: [Line] { state.withLock { $0.lines } }

    /// The first line, now or later, that is wanted; the failure says that `what` did not happen.
    func first(
        _ what: String,
        within limit: Duration,
        where isWanted: @escaping @Sendable (Line) -> Bool
    ) async throws -> Line {
        let line = await withTaskGroup(of: Line?.self) { group in
            group.addTask { await self.next(isWanted) }
            group.addTask {
                try? await SystemTime().sleep(for: limit)
                return nil
            }
            let line = await group.next() ?? nil
            group.cancelAll()
            return line
        }
        try Task.checkCancellation()
        guard let line else { throw CommandFailure("\(phone): \(what) did not happen in time") }
        return line
    }

    /// Returns when the phone has ended and all it said was read.
    func waitForEnd() async { _ = await next { _ in false } }

    private func next(_ isWanted: @escaping @Sendable (Line) -> Bool) async -> Line? {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isKnown, line) = state.withLock { state -> (Bool, Line?) in
                    if let line = state.lines.first(where: isWanted) { return (true, line) }
                    if state.hasEnded || Task.isCancelled { return (true, nil) }
                    state.waiters[id] = Waiter(isWanted: isWanted, continuation: continuation)
                    return (false, nil)
                }
                if isKnown { continuation.resume(returning: line) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(
                returning: nil
            )
        }
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        var line: [UInt8] = []
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            for byte in buffer[..<count] {
                guard byte == 0x0a else {
                    line.append(byte)
                    continue
                }
                if let parsed = Self.parse(line) { take(parsed) }
                line.removeAll(keepingCapacity: true)
            }
        }
        close(descriptor)
        let waiters = state.withLock { state in
            state.hasEnded = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.continuation.resume(returning: nil) }
    }

    private func take(_ line: Line) {
        let waiters = state.withLock { state in
            state.lines.append(line)
            let wanted = state.waiters.filter { $0.value.isWanted(line) }
            for id in wanted.keys { state.waiters[id] = nil }
            return Array(wanted.values)
        }
        onLine(line)
        for waiter in waiters { waiter.continuation.resume(returning: line) }
    }

    /// Reads one line; nil for anything that is not of the phone.
    static func parse(_ bytes: [UInt8]) -> Line? {
        guard
            let object = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)),
            let event = object["event"]?.string, let at = object["at_ms"]?.integer
        else { return nil }
        return Line(
            event: event,
            at: UnixMilliseconds(at),
            eventID: object["event_id"]?.string.flatMap { EventID($0) },
            title: object["title"]?.string ?? "",
            body: object["body"]?.string ?? "",
            tap: object["tap"]?.string,
            isGeneric: object["generic"] == .bool(true),
            message: object["message"]?.string ?? ""
        )
    }
}
