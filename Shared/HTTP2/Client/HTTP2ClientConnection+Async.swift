import Loop

/// A caller that waits for room.
struct CapacityWaiter {
    var id: UInt64
    var continuation: UnsafeContinuation<Bool, Never>
    var timer: LoopTimer?
}

/// The one PING that may be under way.
struct PingState {
    var number: UInt64 = 0
    var waiters: [UnsafeContinuation<Bool, Never>] = []
    var timer: LoopTimer?
}

extension HTTP2ClientConnection {
    /// Sends a request and waits for its outcome; cancelling the task resets the stream.
    ///
    /// Runs without a change of thread when the calling task prefers the loop's executor.
    package func send(_ request: HTTP2Request, timeout: Duration) async -> HTTP2Outcome {
        if loop.executor.isCurrent {
            nextID &+= 1
            let id = nextID
            return await withTaskCancellationHandler {
                await withUnsafeContinuation { continuation in
                    start(request, timeout: timeout, continuation: continuation, id: id)
                }
            } onCancel: {
                loop.executor.execute { self.cancel(id: id) }
            }
        }
        return await sendFromElsewhere(request, timeout: timeout)
    }

    private func sendFromElsewhere(
        _ request: HTTP2Request,
        timeout: Duration
    ) async -> HTTP2Outcome {
        let ticket = Locked<UInt64?>(nil)
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                loop.executor.execute {
                    self.nextID &+= 1
                    let id = self.nextID
                    ticket.withLock { $0 = id }
                    self.start(request, timeout: timeout, continuation: continuation, id: id)
                }
            }
        } onCancel: {
            // Queued behind the start, if that has not run yet.
            loop.executor.execute {
                if let id = ticket.withLock({ $0 }) { self.cancel(id: id) }
            }
        }
    }

    private func start(
        _ request: HTTP2Request,
        timeout: Duration,
        continuation: UnsafeContinuation<HTTP2Outcome, Never>,
        id: UInt64
    ) {
        let refusal = begin(
            request,
            timeout: timeout,
            reply: .continuation(continuation, id: id)
        )
        if let refusal { continuation.resume(returning: .notSent(refusal)) }
    }

    private func cancel(id: UInt64) {
        guard let session else { return }
        session.cancel(id: id)
        deliver()
        pump(isReadable: false)
    }

    // MARK: Capacity

    /// Waits until `capacity` is above zero; false when the time is up or the connection will
    /// never take a request again.
    package func waitForCapacity(timeout: Duration) async -> Bool {
        await withUnsafeContinuation { continuation in
            onLoop { self.addCapacityWaiter(continuation, timeout: timeout) }
        }
    }

    private func addCapacityWaiter(
        _ continuation: UnsafeContinuation<Bool, Never>,
        timeout: Duration
    ) {
        switch state {
        case .draining, .closed:
            continuation.resume(returning: false)
            return
        case .idle, .connecting, .ready: break
        }
        if capacity > 0 {
            continuation.resume(returning: true)
            return
        }
        nextID &+= 1
        let id = nextID
        let timer = loop.executor.schedule(after: timeout) { [weak self] in
            self?.capacityTimedOut(id)
        }
        capacityWaiters.append(CapacityWaiter(id: id, continuation: continuation, timer: timer))
    }

    private func capacityTimedOut(_ id: UInt64) {
        guard let index = capacityWaiters.firstIndex(where: { $0.id == id }) else { return }
        capacityWaiters.remove(at: index).continuation.resume(returning: false)
    }

    /// Wakes as many waiters as there is room for, or all if there never will be.
    func wakeCapacityWaiters() {
        guard !capacityWaiters.isEmpty else { return }
        let count: Int
        let answer: Bool
        switch state {
        case .draining, .closed: (count, answer) = (capacityWaiters.count, false)
        case .idle, .connecting, .ready:
            (count, answer) = (min(capacity, capacityWaiters.count), true)
        }
        let woken = capacityWaiters.prefix(count)
        capacityWaiters.removeFirst(count)
        for waiter in woken {
            waiter.timer?.cancel()
            waiter.continuation.resume(returning: answer)
        }
    }

    // MARK: PING

    /// Asks the peer for a sign of life; without one in time the connection is closed.
    ///
    /// One PING is under way at a time; further callers share its result.
    package func ping(timeout: Duration) async -> Bool {
        await withUnsafeContinuation { continuation in
            onLoop { self.startPing(continuation, timeout: timeout) }
        }
    }

    private func startPing(_ continuation: UnsafeContinuation<Bool, Never>, timeout: Duration) {
        switch state {
        case .ready, .draining: break
        case .idle, .connecting, .closed:
            continuation.resume(returning: false)
            return
        }
        ping.waiters.append(continuation)
        guard ping.timer == nil, let session else { return }
        ping.number &+= 1
        session.ping(ping.number)
        ping.timer = loop.executor.schedule(after: timeout) { [weak self] in
            self?.close(.pingTimeout)
        }
        scheduleFlush()
    }

    func pongReceived(_ number: UInt64) {
        if ping.timer != nil, number == ping.number { finishPing(answered: true) }
    }

    func finishPing(answered: Bool) {
        ping.timer?.cancel()
        ping.timer = nil
        let waiters = ping.waiters
        ping.waiters = []
        for waiter in waiters { waiter.resume(returning: answered) }
    }

    // MARK: Ending from any thread

    /// Takes no new requests, finishes those under way, then closes.
    package func shutDown() { onLoop { self.drain() } }
}
