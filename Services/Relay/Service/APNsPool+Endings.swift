import Contracts
import HTTP2
import Loop
import RelayCore
import ServiceKit
import TLS

extension APNsPool {
    /// The peer said GOAWAY: what it did not process comes back as refused by itself.
    func left(_ entry: PoolConnection, _ goAway: HTTP2GoAway, lane index: Int) {
        guard !entry.wasReported else { return }
        entry.wasReported = true
        entry.isRetired = true
        giveBackOwn(of: entry, lane: index)
        metrics.count(.goAway)
        var reason = goAway.code.description
        if case .reason(let word, _) = ProviderAnswer.read(goAway.debugData) {
            if ProviderRule.mayBeLogged(word) { reason = word }
            let answer = ProviderAnswer(status: 400, body: .reason(word, timestamp: nil))
            switch ProviderRule.treatment(of: answer) {
            case .providerHeld: openBreaker(.provider, reason: word)
            case .topicHeld: openBreaker(.topic, reason: word)
            case .tokenUpdates: policy.tooManyUpdates(at: now)
            case .tokenExpired:
                if policy.expired(entry.token, at: now) == .clockIsWrong { clockIsWrong() }
            case .accepted, .deviceDead, .deviceSuspect, .deviceOtherTopic, .deviceThrottled,
                .messageRefused, .connectionIdle, .keyUnrelated, .serverFailed, .unintelligible:
                break
            }
        }
        log.warning(
            "apns is closing a connection",
            ["connection": .int(entry.serial), "reason": .string(reason)]
        )
        pace(after: entry, lane: index)
        if !isStopping, entry.hasSucceeded, now >= lanes[index].nextOpening,
            !lanes[index].connections.contains(where: \.isHopeful)
        {
            open(lane: index)
        }
    }

    func ended(_ entry: PoolConnection, _ closure: HTTP2Closure, lane index: Int) {
        giveBackOwn(of: entry, lane: index)
        // It may have closed before anybody looked at its GOAWAY.
        if let goAway = entry.connection.goAway { left(entry, goAway, lane: index) }
        if closure == .local || entry.wasReported || isStopping { return }
        entry.wasReported = true
        let hadConnected = entry.wasAnnounced
        metrics.count(hadConnected ? .lost : .connectFailed)
        log.warning(
            hadConnected ? "apns connection lost" : "apns cannot be reached",
            ["connection": .int(entry.serial), "reason": .text(closure)]
        )
        if case .transport(let error) = closure, error.code == .verification {
            openBreaker(.provider, reason: PoolMetrics.certificateNotTrusted)
        }
        pace(after: entry, lane: index)
    }

    /// Takes a connection out of service; what is under way on it goes on.
    func retire(_ entry: PoolConnection, why: PoolMetrics.Event?) {
        guard !entry.isRetired else { return }
        entry.isRetired = true
        if let why { metrics.count(why) }
        for index in lanes.indices where lanes[index].connections.contains(where: { $0 === entry })
        {
            giveBackOwn(of: entry, lane: index)
            pace(after: entry, lane: index)
        }
        entry.connection.drain()
    }

    private func giveBackOwn(of entry: PoolConnection, lane index: Int) {
        lanes[index].held += entry.own
        entry.own = []
    }

    // MARK: - Pace

    /// Milliseconds between an opening and the one that replaces it: no peer makes this side shake hands
    /// more than twenty times a second, however many answers it gives in between.
    private static var leastDistance: Int64 { 50 }

    /// Sets the time of the next opening after a connection came out of use. One that was worth its
    /// handshake is replaced without a further delay, and so is the first of those that were not; the more of
    /// them follow each other, the longer the wait, whether they brought a success or none.
    private func pace(after entry: PoolConnection, lane index: Int) {
        guard !entry.isPaced else { return }
        entry.isPaced = true
        if entry.wasWorthwhile(at: now) {
            lanes[index].shortLived = 0
            let earliest = entry.openedAt + Self.leastDistance
            lanes[index].nextOpening = max(lanes[index].nextOpening, earliest)
            return
        }
        // Several that end together are one event.
        guard entry.serial >= lanes[index].countsFrom else { return }
        lanes[index].countsFrom = nextSerial
        if entry.hasSucceeded || entry.answers > 0 {
            lanes[index].shortLived += 1
            if lanes[index].shortLived == 1 { return }
            waitToOpen(lane: index, attempt: lanes[index].shortLived - 2)
        } else {
            waitToOpen(lane: index, attempt: lanes[index].failures + lanes[index].shortLived)
            lanes[index].failures += 1
        }
    }

    private func waitToOpen(lane index: Int, attempt: Int) {
        // At least half of the ceiling, so that a peer in trouble is left alone for a while.
        let ceiling = backoff.ceiling(attempt: attempt).clampedNanoseconds / 1_000_000
        let jitter = Int64(random.uniform(below: UInt64(ceiling / 2) + 1))
        lanes[index].nextOpening = now + ceiling / 2 + jitter
    }

    /// Whoever cannot live to see the next opening is told at once when to come back.
    func giveBackHopeless(lane index: Int) {
        guard !lanes[index].connections.contains(where: \.isHopeful) else { return }
        let next = lanes[index].nextOpening
        let hopeless =
            lanes[index].queue.removeAll { $0.deadline <= next }
            + lanes[index].held.filter { $0.deadline <= next }
        lanes[index].held.removeAll { $0.deadline <= next }
        let wait = max(1, next - now)
        for job in hopeless {
            finish(job, job.lastVerdict ?? .network(.none, retryAfterMilliseconds: wait))
        }
    }
}
