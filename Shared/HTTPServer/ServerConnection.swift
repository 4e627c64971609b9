import CMHD
import Glibc
import Loop

// A pointer that only names the connection to `MHD_suspend_connection` and
// `MHD_resume_connection`, both of which libmicrohttpd declares thread-safe. It is used only
// while the exchange that holds it exists, which ends before libmicrohttpd frees the connection.
struct ConnectionHandle: @unchecked Sendable {
    let pointer: OpaquePointer
}

/// One request and its reply, from its head until libmicrohttpd reports it complete.
struct Exchange: Sendable {
    enum Plan: Sendable {
        case read(limit: Int)
        case drain(HTTPResponse)
    }

    let serial: UInt64
    let head: HTTPRequestHead
    let handle: ConnectionHandle
    let plan: Plan
    /// `admit` let it through, so `ended` is owed.
    let admitted: Bool
    /// It takes a place among the concurrent requests.
    let counted: Bool
    var body: [UInt8] = []
    var received = 0
    var started = false
    var suspended = false
    var reply: HTTPResponse?
    var task: Task<Void, Never>?
    var stream: StreamBuffer?
}

/// What waits between a streaming handler and the socket.
struct StreamBuffer: Sendable {
    var pending: [UInt8] = []
    var finished = false
    var drained: CheckedContinuation<Bool, Never>?
}

/// One TCP connection, seen by libmicrohttpd's thread, the deadline thread and handler tasks.
final class ServerConnection: Sendable {
    enum Phase: Sendable {
        case head
        case upload
        case waiting
        case writing
        case closed
    }

    struct State: Sendable {
        var phase = Phase.head
        var deadline: Deadline
        var serial: UInt64 = 0
        var exchange: Exchange?
        var cutByDeadline = false
        /// The reply went out while the client may still have been sending.
        var lingers = false
    }

    /// Valid until `phase` is closed; libmicrohttpd closes it after that.
    let descriptor: Int32
    let peer: String
    let state: Locked<State>

    init(descriptor: Int32, peer: String, deadline: Deadline) {
        self.descriptor = descriptor
        self.peer = peer
        state = Locked(State(deadline: deadline))
    }

    /// Method and path of the request in hand, for crash points.
    var requestLine: String {
        state.withLock { state in
            state.exchange.map { "\($0.head.method) \($0.head.path)" } ?? ""
        }
    }

    /// Stores the reply of a suspended request and lets libmicrohttpd go on. The first reply
    /// counts; a later one, or one for a request that is gone, is dropped.
    func finish(_ serial: UInt64, _ response: HTTPResponse, deadline: Deadline) {
        let handle = state.withLock { state -> ConnectionHandle? in
            guard var exchange = state.exchange, exchange.serial == serial,
                exchange.suspended, exchange.reply == nil
            else { return nil }
            exchange.reply = response
            exchange.suspended = false
            state.exchange = exchange
            state.phase = .writing
            state.deadline = deadline
            return exchange.handle
        }
        if let handle { MHD_resume_connection(handle.pointer) }
    }

    /// Remembers the task that works on a request so that it can be cancelled.
    func attach(_ serial: UInt64, _ task: Task<Void, Never>) {
        let late = state.withLock { state -> Bool in
            guard state.exchange?.serial == serial else { return true }
            state.exchange?.task = task
            return false
        }
        if late { task.cancel() }
    }

    /// Adds a piece to a streamed reply. Returns false when nobody reads it any more.
    func write(_ serial: UInt64, _ bytes: [UInt8]) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                offer(serial, bytes, continuation)
            }
        } onCancel: {
            endStream(serial)
        }
    }

    private func offer(
        _ serial: UInt64,
        _ bytes: [UInt8],
        _ continuation: CheckedContinuation<Bool, Never>
    ) {
        let (answer, resumed) = state.withLock { state -> (Bool?, ConnectionHandle?) in
            guard var exchange = state.exchange, exchange.serial == serial,
                var stream = exchange.stream, !stream.finished, stream.drained == nil
            else { return (false, nil) }
            stream.pending += bytes
            var answer: Bool? = true
            if stream.pending.count > StreamBuffer.highWaterBytes {
                stream.drained = continuation
                answer = nil
            }
            let resumed = exchange.suspended ? exchange.handle : nil
            exchange.suspended = false
            exchange.stream = stream
            state.exchange = exchange
            return (answer, resumed)
        }
        if let resumed { MHD_resume_connection(resumed.pointer) }
        if let answer { continuation.resume(returning: answer) }
    }

    /// Lets the streamed reply end after what is already pending.
    func endStream(_ serial: UInt64) {
        let (waiter, resumed) = state.withLock { state in
            state.endStream(serial)
        }
        waiter?.resume(returning: false)
        if let resumed { MHD_resume_connection(resumed.pointer) }
    }
}

extension StreamBuffer {
    /// Above this a writer waits until everything was handed to the socket.
    static let highWaterBytes = 65_536
}

extension ServerConnection.State {
    mutating func endStream(
        _ serial: UInt64
    ) -> (CheckedContinuation<Bool, Never>?, ConnectionHandle?) {
        guard exchange?.serial == serial, var stream = exchange?.stream, !stream.finished else {
            return (nil, nil)
        }
        stream.finished = true
        let waiter = stream.drained
        stream.drained = nil
        let resumed = exchange?.suspended == true ? exchange?.handle : nil
        exchange?.suspended = false
        exchange?.stream = stream
        return (waiter, resumed)
    }
}

/// A point on CLOCK_MONOTONIC in nanoseconds; `never` sorts last.
struct Deadline: Comparable, Sendable {
    var nanoseconds: UInt64

    static let never = Deadline(nanoseconds: .max)

    static var now: Deadline {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Deadline(
            nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
        )
    }

    static func after(_ duration: Duration) -> Deadline {
        // A century is for ever here, and keeps the sum from overflowing.
        let parts = max(.zero, min(duration, .seconds(3_155_760_000))).components
        let span =
            UInt64(parts.seconds) * 1_000_000_000
            + UInt64(parts.attoseconds / 1_000_000_000)
        return Deadline(nanoseconds: now.nanoseconds + span)
    }

    func remaining(from now: Deadline) -> Duration {
        .nanoseconds(
            Int64(clamping: nanoseconds > now.nanoseconds ? nanoseconds - now.nanoseconds : 0)
        )
    }

    static func < (left: Deadline, right: Deadline) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}
