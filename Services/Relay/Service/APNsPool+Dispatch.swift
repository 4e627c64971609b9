import Contracts
import HTTP2
import Loop
import RelayCore
import ServiceKit

extension APNsPool {
    /// How often waiting messages are checked against their deadline.
    private static let sweepInterval = Duration.milliseconds(100)

    /// Gives waiting messages to connections, opens connections where they are missing.
    func dispatch() {
        for index in lanes.indices {
            dispatch(lane: index)
            openIfWanted(lane: index)
        }
        metrics.queued.set(Int64(lanes.reduce(0) { $0 + $1.waiting }))
        metrics.inFlight.set(Int64(inFlight.count))
        armSweep()
    }

    private func dispatch(lane index: Int) {
        retireSpent(lane: index)
        adoptHeld(lane: index)
        for entry in lanes[index].connections {
            while entry.room > 0, !entry.own.isEmpty {
                guard isFresh(entry, lane: index) else { break }
                guard submit(entry.own.removeFirst(), over: entry, lane: index) else { break }
            }
        }
        while !lanes[index].queue.isEmpty, let entry = lanes[index].best() {
            guard isFresh(entry, lane: index) else { continue }
            guard let job = lanes[index].queue.popFirst() else { return }
            guard submit(job, over: entry, lane: index) else { return }
        }
    }

    /// Takes connections out of use whose replacement did not come in time.
    private func retireSpent(lane index: Int) {
        let now = now
        for entry in lanes[index].connections
        where !entry.isRetired && policy.isSpent(entry.token, at: now) {
            retire(entry, why: nil)
        }
    }

    /// Moves messages that waited for a newer connection to the one that suits them.
    private func adoptHeld(lane index: Int) {
        guard !lanes[index].held.isEmpty else { return }
        var rest: [PushJob] = []
        for job in lanes[index].held {
            let entry = lanes[index].connections.last { entry in
                entry.isHopeful && entry.connection.state == .ready
                    && entry.serial > job.afterConnection
                    && entry.token.generation >= job.fromGeneration
            }
            if let entry { entry.own.append(job) } else { rest.append(job) }
        }
        lanes[index].held = rest
    }

    /// Asks a connection that was idle for long whether it lives; false while it does not answer.
    private func isFresh(_ entry: PoolConnection, lane: Int) -> Bool {
        let now = now
        guard
            now - entry.lastUsed > Self.pingAfterMilliseconds, entry.connection.activeStreams == 0
        else { return true }
        // A full channel means that others are being asked; this one simply waits for its turn.
        entry.isPinging = pings.trySend(entry.serial)
        if !entry.isPinging { retire(entry, why: nil) }
        return false
    }

    /// Asks idle connections for signs of life until the signal is raised.
    package func run(until stop: StopSignal) async {
        let registration = stop.onTrigger { [pings] in pings.finish() }
        defer { stop.remove(registration) }
        while let serial = await pings.next() {
            let entry = lanes.lazy.flatMap(\.connections).first { $0.serial == serial }
            guard let entry else { continue }
            let connection = entry.connection
            let answered = await connection.ping(timeout: configuration.pingTimeout)
            entry.isPinging = false
            if answered { entry.lastUsed = now } else { retire(entry, why: .silent) }
            dispatch()
        }
    }

    /// Hands one message to a connection; false if the connection takes no more.
    private func submit(_ job: PushJob, over entry: PoolConnection, lane: Int) -> Bool {
        var job = job
        let now = now
        guard now < job.deadline else {
            finish(job, overdue(job))
            return true
        }
        let device = job.push.deviceToken
        if let wait = throttles.wait(for: device, at: now) {
            metrics.count(.held)
            finish(job, .throttled(retryAfterMilliseconds: wait))
            return true
        }
        job.isInSingleFile = throttles.isWatched(device)
        switch admission(at: now) {
        case .pass: break
        case .probe: job.isProbe = true
        case .hold(let verdict):
            metrics.count(.held)
            finish(job, verdict)
            return true
        }
        CrashPoint.reach("apns request sending")
        let refusal = entry.connection.submit(
            request(job),
            tag: job.id,
            timeout: .milliseconds(job.deadline - now)
        )
        switch refusal {
        case nil:
            CrashPoint.reach("apns request sent")
            inFlight[job.id] = InFlight(job: job, entry: entry, startedAt: now)
            if job.isInSingleFile { throttles.began(device) }
            return true
        case .tooLarge:
            probeEnded(job, .inconclusive)
            finish(job, .payloadTooLarge)
            return true
        case .notReady, .noCapacity, .refused, .neverWritten, .cancelled:
            probeEnded(job, .inconclusive)
            job.isProbe = false
            job.isInSingleFile = false
            lanes[lane].queue.prepend(job)
            return false
        }
    }

    private func request(_ job: PushJob) -> HTTP2Request {
        HTTP2Request(
            path: "/3/device/\(job.push.deviceToken.hex)",
            headers: [
                HTTP2Field("apns-id", job.push.apnsID, indexing: .none),
                HTTP2Field("apns-collapse-id", job.push.collapseID, indexing: .none),
                HTTP2Field(
                    "apns-expiration",
                    String(job.push.expiresAt.seconds),
                    indexing: .none
                ),
            ],
            body: job.push.payload
        )
    }

    /// What a message gets whose time is up before APNs was asked (again).
    func overdue(_ job: PushJob) -> RelayVerdict {
        if time.wall.second >= job.push.expiresAt { return .expired }
        return job.lastVerdict ?? .network(.none, retryAfterMilliseconds: 1_000)
    }

    // MARK: - Breakers

    enum JobAdmission {
        case pass, probe
        case hold(RelayVerdict)
    }

    private func admission(at now: Int64) -> JobAdmission {
        guard providerBreaker.isOpen || topicBreaker.isOpen else { return .pass }
        // Before the place of a probe is taken that the other scope would hold back.
        if let held = held(at: now) { return .hold(held) }
        switch providerBreaker.admit(at: now) {
        case .hold(let reason, let wait):
            return .hold(.held(reason: reason, scope: .provider, retryAfterMilliseconds: wait))
        case .probe: return .probe
        case .pass: break
        }
        switch topicBreaker.admit(at: now) {
        case .hold(let reason, let wait):
            return .hold(.held(reason: reason, scope: .topic, retryAfterMilliseconds: wait))
        case .probe: return .probe
        case .pass: return .pass
        }
    }

    enum ProbeEnd { case succeeded, inconclusive }

    /// Reports how a probe went; other messages change nothing.
    func probeEnded(_ job: PushJob, _ end: ProbeEnd) {
        guard job.isProbe else { return }
        switch end {
        case .succeeded: closeBreakers()
        case .inconclusive:
            providerBreaker.inconclusive(at: now)
            topicBreaker.inconclusive(at: now)
        }
    }

    func closeBreakers() {
        guard providerBreaker.isOpen || topicBreaker.isOpen else { return }
        providerBreaker.succeeded()
        topicBreaker.succeeded()
        metrics.breaker("provider", isOpen: false)
        metrics.breaker("topic", isOpen: false)
        log.info("apns takes messages again")
    }

    /// Holds further messages back because of that answer; returns the wait in milliseconds.
    @discardableResult
    func openBreaker(_ scope: VerdictScope, reason: String) -> Int64 {
        let wasOpen = providerBreaker.isOpen || topicBreaker.isOpen
        let wait =
            scope == .topic
            ? topicBreaker.failed(reason: reason, at: now)
            : providerBreaker.failed(reason: reason, at: now)
        metrics.alarm(reason)
        metrics.breaker(scope == .topic ? "topic" : "provider", isOpen: true)
        if !wasOpen {
            log.error(
                "apns refuses this provider, messages are held",
                ["reason": .string(reason), "scope": .string(scope.rawValue)]
            )
        }
        giveBackWaiting()
        return wait
    }

    /// With a breaker open nobody waits for a stream in vain.
    private func giveBackWaiting() {
        guard let verdict = held(at: now) else { return }
        for index in lanes.indices {
            for job in takeWaiting(lane: index) {
                metrics.count(.held)
                finish(job, job.lastVerdict ?? verdict)
            }
        }
    }

    // MARK: - Deadlines of waiting messages

    private func armSweep() {
        guard sweepTimer == nil, lanes.contains(where: { $0.waiting > 0 }) else { return }
        sweepTimer = loop.executor.schedule(after: Self.sweepInterval) { [weak self] in
            self?.assumeIsolated { $0.sweep() }
        }
    }

    private func sweep() {
        sweepTimer = nil
        let now = now
        for index in lanes.indices {
            var overdue = lanes[index].queue.removeAll { $0.deadline <= now }
            overdue += lanes[index].held.filter { $0.deadline <= now }
            lanes[index].held.removeAll { $0.deadline <= now }
            for entry in lanes[index].connections {
                overdue += entry.own.filter { $0.deadline <= now }
                entry.own.removeAll { $0.deadline <= now }
            }
            for job in overdue { finish(job, self.overdue(job)) }
        }
        dispatch()
    }
}
