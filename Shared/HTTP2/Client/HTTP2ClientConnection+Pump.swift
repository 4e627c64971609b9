import Loop

extension HTTP2ClientConnection {
    /// Sends what was submitted once the jobs that are queued now have had their turn.
    func scheduleFlush() {
        guard !isFlushScheduled, !isPumping else { return }
        isFlushScheduled = true
        loop.executor.execute { [weak self] in
            guard let self else { return }
            self.isFlushScheduled = false
            self.pump(isReadable: false)
        }
    }

    /// Moves bytes both ways, hands out outcomes, and arranges to be called again if needed.
    func pump(isReadable: Bool) {
        guard let wire, let session, !isPumping else { return }
        isPumping = true
        var end: HTTP2Closure?
        var goOn = false
        if isReadable {
            switch wire.fill() {
            case .done, .blocked: break
            case .more: goOn = true
            case .closed: end = .peer
            case .failed(let closure): end = closure
            }
            handleEvents(session)
            // Outcomes first: whoever gets them may submit more, which leaves in the same write.
            deliver()
        }
        var isBlocked = false
        if socket >= 0 {
            switch wire.flush() {
            case .done, .more: break
            case .blocked: isBlocked = true
            case .closed: end = end ?? .peer
            case .failed(let closure): end = end ?? closure
            }
        }
        isPumping = false
        // Streams that this side reset ended while their frames were taken out.
        deliver()
        if case .closed = state { return }
        if let end {
            close(end)
            return
        }
        if session.isFinished {
            close(.peer)
            return
        }
        watch(writing: isBlocked)
        closeIfDrained()
        noteChange()
        if goOn { scheduleRead() }
    }

    /// Reads on after the budget was used up: OpenSSL may hold bytes that epoll does not report.
    private func scheduleRead() {
        guard !needsAnotherRound else { return }
        needsAnotherRound = true
        loop.executor.execute { [weak self] in
            guard let self else { return }
            self.needsAnotherRound = false
            self.pump(isReadable: true)
        }
    }

    private func handleEvents(_ session: HTTP2ClientSession) {
        guard !session.events.isEmpty else { return }
        let events = session.events
        session.events = []
        for event in events {
            switch event {
            case .settings: break
            case .goAway(let info):
                goAway = info
                switch state {
                case .ready, .draining: setState(.draining(info))
                case .idle, .connecting, .closed: break
                }
            case .pong(let number): pongReceived(number)
            }
        }
    }

    /// Hands the collected outcomes to those who wait for them.
    func deliver() {
        while let session, !session.completed.isEmpty {
            // Kept between calls for its room; empty while outcomes are handed out.
            var completed: [(reply: HTTP2ClientSession.Reply, outcome: HTTP2Outcome)] = []
            swap(&completed, &delivered)
            session.takeCompleted(into: &completed)
            for (reply, outcome) in completed {
                switch reply {
                case .nobody: break
                case .tag(let tag): batch.append(HTTP2Completion(tag: tag, outcome: outcome))
                case .continuation(let continuation, _): continuation.resume(returning: outcome)
                }
            }
            completed.removeAll(keepingCapacity: true)
            swap(&completed, &delivered)
            if !batch.isEmpty {
                let ready = batch
                batch = []
                onOutcomes?(ready[...])
            }
        }
    }

    // MARK: Deadlines

    func armDeadlineTimer(at deadline: Int64) {
        deadlineTimer?.cancel()
        deadlineTimerAt = deadline
        // A scan looks at every slot, so scans keep a few milliseconds apart.
        let delay = max(2_000_000, deadline - monotonicNanoseconds())
        deadlineTimer = loop.executor.schedule(after: .nanoseconds(delay)) { [weak self] in
            self?.deadlinePassed()
        }
    }

    private func deadlinePassed() {
        deadlineTimer = nil
        deadlineTimerAt = .max
        guard let session else { return }
        let next = session.expire(at: monotonicNanoseconds())
        if next != .max { armDeadlineTimer(at: next) }
        deliver()
        pump(isReadable: false)
    }
}
