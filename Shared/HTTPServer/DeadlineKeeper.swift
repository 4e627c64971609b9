import CMHD
import Glibc
import Loop
import Synchronization

/// Ends what takes too long, on a thread of its own: libmicrohttpd calls back only when bytes
/// arrive, and never while a connection is suspended.
actor DeadlineKeeper {
    nonisolated let loop: LoopExecutor
    private let core: ServerCore
    private var timer: LoopTimer?
    private var halted = false
    private var lingering: LingeringSockets

    init(core: ServerCore) throws {
        self.core = core
        let backend = try EpollBackend()
        lingering = LingeringSockets(backend: backend)
        loop = try LoopExecutor(name: "http-deadline", backend: backend)
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    func start() {
        let loop = loop
        core.lookAgain.withLock { lookAgain in
            lookAgain.call = { [weak self] in
                loop.execute { [weak self] in self?.assumeIsolated { $0.sweep() } }
            }
            lookAgain.linger = { [weak self] descriptor in
                guard let self else {
                    close(descriptor)
                    return
                }
                loop.execute { self.assumeIsolated { $0.linger(descriptor) } }
            }
        }
        sweep()
    }

    private func sweep() {
        guard !halted else { return }
        timer?.cancel()
        let now = Deadline.now
        var next = Deadline.after(core.limits.shortest)
        for connection in core.table.withLock({ Array($0.connections.values) }) {
            next = min(next, core.expire(connection, now: now))
        }
        arm(after: max(next.remaining(from: .now), .milliseconds(1)))
    }

    private func arm(after delay: Duration) {
        timer = loop.schedule(after: delay) { [weak self] in
            self?.assumeIsolated { $0.sweep() }
        }
    }

    private func linger(_ descriptor: Int32) {
        guard !halted, !lingering.isFull else {
            close(descriptor)
            return
        }
        let timer = loop.schedule(after: LingeringSockets.longest) { [weak self] in
            self?.assumeIsolated { $0.lingering.remove(descriptor) }
        }
        lingering.add(descriptor, timer: timer) { [weak self] in
            self?.assumeIsolated { $0.lingering.discard(descriptor) }
        }
    }

    /// Calls `force` when the grace period has passed and requests are still being worked on.
    func forceAfter(_ grace: Duration) -> LoopTimer {
        let core = core
        return loop.schedule(after: grace) { core.force() }
    }

    func cancel(_ timer: LoopTimer) {
        timer.cancel()
    }

    /// Ends the daemon on this thread, which may block until its thread has ended.
    func halt(_ daemon: DaemonHandle) {
        halted = true
        core.lookAgain.withLock { $0 = ServerCore.LookAgain() }
        lingering.removeAll()
        timer?.cancel()
        timer = nil
        MHD_stop_daemon(daemon.pointer)
    }
}

// The daemon pointer is used by one caller at a time: `HTTPServer` takes it out of its lock box
// before it hands it to the deadline thread.
struct DaemonHandle: @unchecked Sendable {
    let pointer: OpaquePointer
}

extension ServerCore {
    /// Ends the current wait of a connection if it is over, and says when to look again.
    func expire(_ connection: ServerConnection, now: Deadline) -> Deadline {
        enum Step {
            case look(Deadline)
            case refuse(UInt64, HTTPRequestHead, Task<Void, Never>?)
            case leave(UInt64, Task<Void, Never>?)
        }
        let step = connection.state.withLock { state -> Step in
            if state.phase == .writing, let exchange = state.exchange, exchange.suspended {
                // A streamed reply without news: the only way to learn that nobody listens.
                return hungUp(connection.descriptor)
                    ? .leave(exchange.serial, exchange.task)
                    : .look(.after(.seconds(1)))
            }
            guard state.deadline <= now else { return .look(state.deadline) }
            state.deadline = .never
            switch state.phase {
            case .closed:
                return .look(.never)
            case .waiting:
                guard let exchange = state.exchange else { return .look(.never) }
                return .refuse(exchange.serial, exchange.head, exchange.task)
            case .upload:
                state.cutByDeadline = true
                cutUpload(connection, state.exchange)
            case .head, .writing:
                shutdown(connection.descriptor, Int32(SHUT_RDWR))
            }
            return .look(.never)
        }
        switch step {
        case .look(let deadline):
            return deadline
        case .refuse(let serial, let head, let task):
            count(.deadline)
            connection.finish(
                serial,
                handler.refusal(.deadline, head),
                deadline: .after(limits.writeTimeout)
            )
            task?.cancel()
        case .leave(let serial, let task):
            task?.cancel()
            connection.endStream(serial)
        }
        return .never
    }

    /// Answers 408 where that is possible and ends the connection. libmicrohttpd cannot answer
    /// during an upload and writes nothing then, so the bytes go to the socket directly, under
    /// the connection's lock; inside TLS there is only the cut.
    private func cutUpload(_ connection: ServerConnection, _ exchange: Exchange?) {
        table.withLock { $0.statistics.refused[.uploadTimeout, default: 0] += 1 }
        if !encrypted, let head = exchange?.head {
            let response = handler.refusal(.uploadTimeout, head)
            var text = "HTTP/1.1 \(response.status) Request Timeout\r\n"
            for (name, value) in response.headers { text += "\(name): \(value)\r\n" }
            text += "Content-Length: \(response.body.count)\r\nConnection: close\r\n\r\n"
            let bytes = Array(text.utf8) + response.body
            let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
            _ = send(connection.descriptor, bytes, bytes.count, flags)
        }
        shutdown(connection.descriptor, Int32(SHUT_RDWR))
    }

    private func hungUp(_ descriptor: Int32) -> Bool {
        let closedByPeer: Int16 = 0x2000  // POLLRDHUP, which the Glibc module hides
        var entry = pollfd(fd: descriptor, events: closedByPeer, revents: 0)
        guard poll(&entry, 1, 0) > 0 else { return false }
        return entry.revents & (closedByPeer | Int16(POLLHUP) | Int16(POLLERR)) != 0
    }

    /// Answers every suspended request so that the daemon may be stopped.
    func force() {
        forced.store(true, ordering: .releasing)
        for connection in table.withLock({ Array($0.connections.values) }) {
            let exchange = connection.state.withLock { $0.exchange }
            guard let exchange else { continue }
            if exchange.stream != nil {
                connection.endStream(exchange.serial)
            } else {
                connection.finish(
                    exchange.serial,
                    handler.refusal(exchange.started ? .deadline : .stopping, exchange.head),
                    deadline: .after(limits.writeTimeout)
                )
            }
            exchange.task?.cancel()
        }
        let idle = table.withLock { table -> CheckedContinuation<Void, Never>? in
            defer { table.idle = nil }
            return table.idle
        }
        idle?.resume()
    }

    /// Ends streamed replies, which have no end of their own.
    func endStreams() {
        for connection in table.withLock({ Array($0.connections.values) }) {
            let exchange = connection.state.withLock { $0.exchange }
            guard let exchange, exchange.stream != nil else { continue }
            exchange.task?.cancel()
            connection.endStream(exchange.serial)
        }
    }

    /// Returns when no request is being worked on or `force` was called.
    func waitUntilIdle() async {
        await withCheckedContinuation { continuation in
            let now = table.withLock { table -> Bool in
                if table.active == 0 || forced.load(ordering: .acquiring) { return true }
                table.idle = continuation
                return false
            }
            if now { continuation.resume() }
        }
    }
}
