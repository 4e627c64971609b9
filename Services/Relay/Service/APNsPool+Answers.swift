import Contracts
import HTTP2
import Loop
import RelayCore
import ServiceKit

extension APNsPool {
    /// Time a second try needs to be worth it.
    private static let retryRoomMilliseconds: Int64 = 500
    /// Messages in a row that ended with a 5xx before the others are held back.
    private static let serverFailureLimit = 3

    /// Takes the outcomes of requests; called by a connection on the loop's thread.
    func handle(_ outcomes: ArraySlice<HTTP2Completion>) {
        for completion in outcomes {
            guard let flight = inFlight.removeValue(forKey: completion.tag) else { continue }
            flight.entry.lastUsed = now
            if case .response = completion.outcome { flight.entry.answers += 1 }
            if flight.job.isInSingleFile { throttles.ended(flight.job.push.deviceToken) }
            CrashPoint.reach("apns answer received")
            switch completion.outcome {
            case .response(let response): answered(flight, response)
            case .notSent(let reason): notSent(flight, reason)
            case .ambiguous(let why, _): ambiguous(flight, why)
            }
        }
        if isStopping, inFlight.isEmpty { lookSoon() }
        dispatch()
    }

    private func notSent(_ flight: InFlight, _ reason: HTTP2NotSent) {
        var job = flight.job
        probeEnded(job, .inconclusive)
        job.isProbe = false
        job.isInSingleFile = false
        if reason == .tooLarge {
            finish(job, .payloadTooLarge)
            return
        }
        metrics.count(.refused)
        job.refusals += 1
        guard job.refusals <= Self.refusalLimit, now < job.deadline, !isStopping else {
            finish(job, job.lastVerdict ?? .network(.none, retryAfterMilliseconds: 1_000))
            return
        }
        lanes[lane(of: job)].queue.prepend(job)
    }

    private func ambiguous(_ flight: InFlight, _ why: HTTP2Ambiguity) {
        probeEnded(flight.job, .inconclusive)
        finish(flight.job, .network(.ambiguous, retryAfterMilliseconds: 1_000))
        if why == .timeout, flight.entry.connection.silentStreams >= Self.silentLimit {
            retire(flight.entry, why: .silent)
        }
    }

    private func answered(_ flight: InFlight, _ response: HTTP2Response) {
        let entry = flight.entry
        let answer = ProviderAnswer(
            status: response.status,
            body: response.body,
            isTruncated: response.isBodyTruncated,
            retryAfter: response.headers["retry-after"],
            now: time.wall.second
        )
        let treatment = ProviderRule.treatment(of: answer)
        let verdict = treatment.verdict(for: answer)
        if treatment.raisesAlarm { metrics.alarm(verdict.reason) }
        if treatment != .serverFailed { serverFailures = 0 }
        switch treatment {
        case .accepted:
            entry.hasSucceeded = true
            lanes[lane(of: flight.job)].failures = 0
            closeBreakers()
            metrics.seconds.observe(.milliseconds(now - flight.startedAt))
            finish(flight.job, verdict)
        case .deviceThrottled:
            probeEnded(flight.job, .succeeded)
            let wait = throttles.refused(
                flight.job.push.deviceToken,
                statedMilliseconds: verdict.retryAfterMilliseconds,
                at: now
            )
            finish(flight.job, verdict.waiting(wait))
        case .deviceDead, .deviceSuspect, .deviceOtherTopic, .messageRefused:
            // The provider was let in, whatever it said about this message.
            probeEnded(flight.job, .succeeded)
            finish(flight.job, verdict)
        case .unintelligible:
            probeEnded(flight.job, .inconclusive)
            finish(flight.job, verdict)
        case .connectionIdle, .keyUnrelated: changeConnection(flight, verdict)
        case .tokenUpdates:
            policy.tooManyUpdates(at: now)
            changeConnection(flight, verdict)
        case .tokenExpired: tokenExpired(flight, verdict)
        case .providerHeld, .topicHeld:
            let wait = openBreaker(verdict.scope, reason: verdict.reason)
            // A connection stays bound to its team, its key and the topics they had at its beginning.
            retire(entry, why: nil)
            finish(flight.job, verdict.waiting(wait))
        case .serverFailed: serverFailed(flight, verdict)
        }
    }

    /// The connection is of no more use; the message goes over another one, once.
    private func changeConnection(_ flight: InFlight, _ verdict: RelayVerdict) {
        var job = flight.job
        probeEnded(job, .inconclusive)
        retire(flight.entry, why: nil)
        guard !job.hasChangedConnection, hasRoom(job) else {
            let wait = openBreaker(.provider, reason: verdict.reason)
            finish(job, verdict.waiting(wait))
            return
        }
        job.hasChangedConnection = true
        hold(job, after: flight.entry, verdict)
    }

    /// At most one new token, and none at all when the clock must be what is wrong.
    private func tokenExpired(_ flight: InFlight, _ verdict: RelayVerdict) {
        var job = flight.job
        let expiry = policy.expired(flight.entry.token, at: now)
        retire(flight.entry, why: nil)
        switch expiry {
        case .renew where !job.hasRenewedToken && hasRoom(job):
            probeEnded(job, .inconclusive)
            metrics.count(.renewedToken)
            job.hasRenewedToken = true
            job.fromGeneration = flight.entry.token.generation + 1
            hold(job, after: flight.entry, verdict)
        case .renew: finish(job, verdict)
        case .clockIsWrong: finish(job, verdict.waiting(clockIsWrong()))
        }
    }

    /// A token that was just signed is called expired: nothing is signed, messages are held.
    @discardableResult
    func clockIsWrong() -> Int64 {
        log.error(
            "apns calls a young provider token expired: check this host's clock",
            ["wall_seconds": .int(time.wall.second.seconds)]
        )
        return openBreaker(.provider, reason: "ExpiredProviderToken")
    }

    /// One retry on a fresh connection; not again when that connection fails at once.
    private func serverFailed(_ flight: InFlight, _ verdict: RelayVerdict) {
        var job = flight.job
        let entry = flight.entry
        probeEnded(job, .inconclusive)
        let isEpisode = entry.isAfterServerError && !entry.hasSucceeded
        guard !job.hasRetriedServer, !isEpisode, hasRoom(job) else {
            serverFailures += 1
            // So many in a row, over several connections, are no matter of one message.
            let wait =
                serverFailures < Self.serverFailureLimit
                ? 0 : openBreaker(.provider, reason: verdict.reason)
            finish(job, verdict.waiting(wait))
            return
        }
        metrics.count(.retriedServer)
        job.hasRetriedServer = true
        lanes[lane(of: job)].isAfterServerError = true
        retire(entry, why: nil)
        hold(job, after: entry, verdict)
    }

    private func hold(_ job: PushJob, after entry: PoolConnection, _ verdict: RelayVerdict) {
        var job = job
        job.isProbe = false
        job.isInSingleFile = false
        job.afterConnection = entry.serial
        job.lastVerdict = verdict
        lanes[lane(of: job)].held.append(job)
    }

    private func hasRoom(_ job: PushJob) -> Bool {
        !isStopping && job.deadline - now > Self.retryRoomMilliseconds
    }

    private func lane(of job: PushJob) -> Int { job.push.isYoung ? 1 : 0 }
}

extension RelayVerdict {
    /// The same verdict with at least that wait.
    fileprivate func waiting(_ milliseconds: Int64) -> RelayVerdict {
        var verdict = self
        verdict.retryAfterMilliseconds = max(retryAfterMilliseconds ?? 0, milliseconds)
        return verdict
    }
}
