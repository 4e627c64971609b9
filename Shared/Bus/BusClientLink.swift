import Contracts
import Loop
import ServiceKit
import ZeroMQ

/// The DEALER sockets of one client and its unanswered requests, confined to the loop's thread.
actor BusClientLink {
    struct Settings: Sendable {
        var name: String
        var source: BusEndpointSource
        var security: BusSecurity
        var window: Int
    }

    nonisolated let runtime: BusRuntime
    let settings: Settings
    let metrics: BusClientMetrics
    let log: Log
    var peers: [BusPeerSocket] = []
    private var requests: [String: BusPendingRequest] = [:]
    private var queue = BusRequestQueue()
    var stamp: FileStamp?
    var isStopped = false
    private var turn = 0
    var made = 0
    var watchers: [Int: CheckedContinuation<Bool, Never>] = [:]

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        runtime.loop.asUnownedSerialExecutor()
    }

    init(runtime: BusRuntime, settings: Settings, metrics: BusClientMetrics, log: Log) {
        self.runtime = runtime
        self.settings = settings
        self.metrics = metrics
        self.log = log
    }

    // MARK: - Lost connections

    /// Requests given to a connection that is gone get no answer from it any more: those that may
    /// be sent again go back to the head of the queue, the others end.
    func lose(_ peer: BusPeerSocket) {
        for (id, request) in requests where request.peer === peer {
            if request.resendEvery != nil {
                requeue(request)
            } else {
                finish(id, .failure(.timeout))
            }
        }
        dispatch()
    }

    // MARK: - Requests

    /// Sends a request and waits for its one answer.
    func exchange(
        id: String,
        frames: [[UInt8]],
        timeout: Duration,
        resendEvery: Duration?
    ) async -> Result<BusReply, BusFailure> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if isStopped || Task.isCancelled {
                    continuation.resume(returning: .failure(.stopped))
                    return
                }
                let request = BusPendingRequest(
                    id: id,
                    frames: frames,
                    resendEvery: resendEvery,
                    receiver: .once(continuation)
                )
                add(request, timeout)
            }
        } onCancel: {
            cancel(id)
        }
    }

    /// Sends a request whose answers go to `channel` until ``forget(_:)``.
    func open(
        id: String,
        frames: [[UInt8]],
        timeout: Duration,
        sendBy: MonotonicInstant?,
        channel: BusAnswerChannel
    ) {
        if isStopped {
            channel.finish()
            return
        }
        let request = BusPendingRequest(
            id: id,
            frames: frames,
            resendEvery: nil,
            receiver: .stream(channel)
        )
        request.sendBy = sendBy
        add(request, timeout)
        guard let sendBy, requests[id] != nil, !request.wasSent else { return }
        let wait = SystemTime().monotonic.duration(to: sendBy)
        request.resend = runtime.loop.schedule(after: wait) { [weak self] in
            self?.assumeIsolated { $0.giveUpUnsent(id) }
        }
    }

    /// Ends a stream whose consumer needs no more.
    nonisolated func forget(_ id: String) {
        runtime.loop.execute { self.assumeIsolated { $0.drop(id) } }
    }

    nonisolated private func cancel(_ id: String) {
        runtime.loop.execute { self.assumeIsolated { $0.finish(id, .failure(.stopped)) } }
    }

    private func add(_ request: BusPendingRequest, _ timeout: Duration) {
        requests[request.id] = request
        let id = request.id
        request.deadline = runtime.loop.schedule(after: timeout) { [weak self] in
            self?.assumeIsolated { $0.expire(id) }
        }
        queue.append(id)
        dispatch()
    }

    private func expire(_ id: String) {
        guard requests[id] != nil else { return }
        metrics.timeouts.add()
        finish(id, .failure(.timeout))
    }

    private func giveUpUnsent(_ id: String) {
        guard let request = requests[id], !request.wasSent else { return }
        let reject = Reject(.retryAfter, "no peer took the request in time; it was not sent")
        finish(id, .failure(.rejected(reject)))
    }

    private func drop(_ id: String) {
        guard let request = requests.removeValue(forKey: id) else { return }
        if request.peer == nil { queue.noteStale { requests[$0] != nil } }
        release(request)
        dispatch()
    }

    private func finish(_ id: String, _ outcome: Result<BusReply, BusFailure>) {
        guard let request = requests.removeValue(forKey: id) else { return }
        if request.peer == nil { queue.noteStale { requests[$0] != nil } }
        release(request)
        request.receiver.finish(outcome)
        dispatch()
    }

    /// Frees the request's place in its peer's window and its timers.
    private func release(_ request: BusPendingRequest) {
        request.deadline?.cancel()
        request.resend?.cancel()
        leave(request)
    }

    private func leave(_ request: BusPendingRequest) {
        guard let peer = request.peer else { return }
        request.peer = nil
        peer.inFlight -= 1
        if peer.isRetiring && peer.inFlight == 0 { close(peer) }
    }

    private func requeue(_ request: BusPendingRequest) {
        request.resend?.cancel()
        leave(request)
        queue.prepend(request.id)
    }

    private func resend(_ id: String) {
        guard let request = requests[id], request.peer != nil else { return }
        requeue(request)
        dispatch()
    }

    /// Gives waiting requests to peers with an open window.
    func dispatch() {
        defer { metrics.waiting.set(Int64(queue.count)) }
        while let id = queue.first {
            guard let request = requests[id], request.peer == nil else {
                queue.removeFirst(isStale: true)
                continue
            }
            // The timer for this may be late: the process can have been stopped meanwhile.
            if let sendBy = request.sendBy, !request.wasSent, SystemTime().monotonic >= sendBy {
                giveUpUnsent(id)
                continue
            }
            guard let peer = choose() else { return }
            switch send(request, peer) {
            case .sent:
                queue.removeFirst(isStale: false)
                sent(request, peer)
            case .full, .unreachable:
                peer.isBlocked = true
                peer.registration?.wantsWrite = true
            }
        }
    }

    private func send(_ request: BusPendingRequest, _ peer: BusPeerSocket) -> ZeroMQSendOutcome {
        do throws(ZeroMQError) {
            CrashPoint.reach("\(BusHeaderCodec.type(of: request.frames)) sending")
            return try peer.socket.send(ZeroMQEnvelope(), request.frames)
        } catch {
            log.error("bus send failed", ["error": .error(error)])
            return .full
        }
    }

    private func sent(_ request: BusPendingRequest, _ peer: BusPeerSocket) {
        CrashPoint.reach("\(BusHeaderCodec.type(of: request.frames)) sent")
        metrics.sent.add()
        if request.wasSent { metrics.resent.add() }
        request.wasSent = true
        request.peer = peer
        request.asked.insert(peer.number)
        peer.inFlight += 1
        guard let interval = request.resendEvery else { return }
        let id = request.id
        request.resend = runtime.loop.schedule(after: interval) { [weak self] in
            self?.assumeIsolated { $0.resend(id) }
        }
    }

    /// The peer with an open window and the fewest in flight; equal ones take turns.
    private func choose() -> BusPeerSocket? {
        var best: BusPeerSocket?
        for offset in peers.indices {
            let peer = peers[(turn + offset) % peers.count]
            guard !peer.isRetiring, !peer.isBlocked, peer.inFlight < settings.window else {
                continue
            }
            if let known = best, known.rank <= peer.rank { continue }
            best = peer
        }
        turn &+= 1
        if turn < 0 { turn = 0 }
        return best
    }

    // MARK: - Answers

    func ready(_ number: Int) {
        guard let peer = peers.first(where: { $0.number == number }) else { return }
        if peer.isBlocked, let ready = try? peer.socket.readiness(), ready.write {
            peer.isBlocked = false
            peer.registration?.wantsWrite = false
        }
        receive(peer)
        dispatch()
    }

    func receive(_ peer: BusPeerSocket) {
        do throws(ZeroMQError) {
            for _ in 0..<256 {
                switch try peer.socket.receive(limits: .bus) {
                case .nothing, .draining: return
                case .excessive: metrics.malformed.add()
                case .message(let message): answer(message, from: peer)
                }
            }
        } catch {
            log.error("bus receive failed", ["error": .error(error)])
        }
    }

    private func answer(_ message: ZeroMQMessage, from peer: BusPeerSocket) {
        guard
            message.frames.count >= 2,
            let header = try? BusHeaderCodec.read(message.frames[0]),
            let id = header.re
        else {
            metrics.malformed.add()
            return
        }
        guard let request = requests[id], request.asked.contains(peer.number) else {
            metrics.late.add()
            return
        }
        CrashPoint.reach("\(header.type) received")
        let reply = BusReply(header: header, body: message.frames[1])
        switch request.receiver {
        case .once: finish(id, .success(reply))
        case .stream(let channel):
            guard channel.count < BusAnswerChannel.places - 1 else {
                finish(id, .failure(.malformedAnswer("more answers than anybody takes")))
                return
            }
            _ = channel.trySend(.success(reply))
        }
    }

    // MARK: - Stopping

    nonisolated func stop() {
        runtime.loop.execute { self.assumeIsolated { $0.stopNow() } }
    }

    private func stopNow() {
        guard !isStopped else { return }
        isStopped = true
        for id in requests.keys { finish(id, .failure(.stopped)) }
        for peer in peers { peer.close() }
        peers = []
        for watcher in watchers.values { watcher.resume(returning: false) }
        watchers = [:]
        countConnected()
    }
}
