import Contracts
import DeliveryCore
import ServiceKit

/// One batch on its way: check, hand over, verdicts. Every row leaves with exactly one outcome.
struct SendRound: Sendable {
    let desk: OutboxDesk
    let registration: any RegistrationPort
    let relay: any RelayPort
    let outcomes: OutcomeWriter
    let limits: WorkerLimits
    let time: any TimeSource
    let random: RandomSource
    let metrics: DeliveryMetrics
    let log: Log
    let hashToken: @Sendable (DeviceToken) -> [UInt8]
    /// Boot id of this host, for relays that are on it too.
    let boot: String?

    /// A message that passed its check.
    struct Candidate: Sendable {
        var held: HeldRow
        var envelope: Envelope
        var target: EligibilityCheckAnswer.Target
    }

    func run(_ rows: [HeldRow]) async {
        let checkable = await settleUnreadable(rows)
        guard !checkable.isEmpty else { return }
        let asked = time.monotonic
        guard let answer = await check(checkable) else { return }
        var candidates = await settleIneligible(checkable, answer)
        let validUntil = asked + .seconds(EligibilityCheckAnswer.validitySeconds)
        var resends = 0
        while !candidates.isEmpty {
            candidates = await handOver(candidates, validUntil: validUntil, resends: resends)
            resends += 1
        }
    }

    private func settleUnreadable(_ rows: [HeldRow]) async -> [HeldRow] {
        var broken: [RowOutcome] = []
        let readable = rows.filter { held in
            let isGivenUp = CrashRule(claims: held.row.claims) == .quarantine
            guard isGivenUp || held.row.envelope == nil else { return true }
            let reason = isGivenUp ? Reason.quarantined : Reason.unreadable
            broken.append(held.outcome(.permanent(reason: reason, isAttempt: false)))
            return false
        }
        await outcomes.write(broken)
        return readable
    }

    // MARK: - Eligibility

    /// Nil when there is no answer: then every row has been handed back.
    private func check(_ rows: [HeldRow]) async -> EligibilityCheckAnswer? {
        let question = EligibilityCheck(
            checks: rows.map {
                EligibilityCheck.Check(
                    installationID: $0.row.installationID,
                    binding: $0.row.binding,
                    watermark: $0.row.watermark,
                    category: $0.row.category
                )
            }
        )
        do {
            let answer = try await registration.check(question, timeout: limits.checkTimeout)
            if answer.verdicts.count == rows.count {
                await desk.checkSucceeded()
                return answer
            }
            metrics.alarm(.malformedAnswer)
            log.error("eligibility answer of another length", ["rows": .int(rows.count)])
        } catch {
            log.warning("eligibility unknown", ["rows": .int(rows.count), "error": .error(error)])
        }
        metrics.checksFailed.add()
        let delay = await desk.checkFailed()
        await outcomes.write(rows.map { $0.handedBack(Reason.eligibilityUnknown, after: delay) })
        return nil
    }

    private func settleIneligible(
        _ rows: [HeldRow],
        _ answer: EligibilityCheckAnswer
    ) async -> [Candidate] {
        var ended: [RowOutcome] = []
        var candidates: [Candidate] = []
        candidates.reserveCapacity(rows.count)
        for (held, verdict) in zip(rows, answer.verdicts) {
            switch verdict {
            case .eligible(let target):
                guard let envelope = held.row.envelope else { continue }
                candidates.append(Candidate(held: held, envelope: envelope, target: target))
            case .ineligible(let reason):
                let reason = Reason.ineligible(reason.rawValue)
                ended.append(held.outcome(.permanent(reason: reason, isAttempt: false)))
            }
        }
        await outcomes.write(ended)
        return candidates
    }

    // MARK: - Hand-over

    /// Sends what may be sent now and returns what is to be sent again at once.
    private func handOver(
        _ candidates: [Candidate],
        validUntil: MonotonicInstant,
        resends: Int
    ) async -> [Candidate] {
        var sending: [Candidate] = []
        for environment in APNsEnvironment.allCases {
            let group = candidates.filter { $0.target.environment == environment }
            sending += await admitted(group, environment)
        }
        let admitted = Set(sending.map(\.target.environment))
        sending = await sendable(sending, validUntil)
        await desk.noteUnused(of: admitted, sent: Set(sending.map(\.target.environment)))
        guard !sending.isEmpty else { return [] }
        var flight = RelayFlight(sending, round: self, resends: resends)
        let end = await relay.send(
            message(sending, validUntil),
            handOver: validUntil - time.monotonic,
            timeout: limits.sendTimeout
        ) { verdicts in
            await flight.take(verdicts)
        }
        return await flight.finish(end)
    }

    /// The part that can be handed over at this moment; the rest goes back.
    private func sendable(
        _ candidates: [Candidate],
        _ validUntil: MonotonicInstant
    ) async -> [Candidate] {
        guard await relay.isConnected() else {
            await handBack(candidates, Reason.relayUnreachable)
            return []
        }
        guard await !desk.isStoreFailing else {
            await handBack(candidates, Reason.handedBack)
            return []
        }
        return await stillValid(candidates, validUntil)
    }

    /// The part that neither relay nor provider holds back; the rest is handed back until then.
    private func admitted(
        _ group: [Candidate],
        _ environment: APNsEnvironment
    ) async -> [Candidate] {
        guard !group.isEmpty else { return [] }
        switch await desk.admission(group.count, environment) {
        case .send(let most):
            await handBack(Array(group.dropFirst(most)), Reason.paused, within: 1000)
            return Array(group.prefix(most))
        case .hold(let milliseconds):
            await handBack(group, Reason.paused, after: milliseconds, within: 1000)
            return []
        }
    }

    /// The last test before hand-over: lease, life and the validity of the check.
    private func stillValid(
        _ candidates: [Candidate],
        _ validUntil: MonotonicInstant
    ) async -> [Candidate] {
        let now = time.monotonic
        guard now < validUntil else {
            await handBack(candidates, Reason.eligibilityUnknown)
            return []
        }
        var ended: [RowOutcome] = []
        let valid = candidates.filter { candidate in
            let held = candidate.held
            if now >= held.lifeEnds {
                ended.append(held.outcome(.expired))
                return false
            }
            if now + limits.leaseReserve > held.leaseEnds {
                ended.append(held.handedBack(Reason.handedBack))
                return false
            }
            return true
        }
        await outcomes.write(ended)
        return valid
    }

    private func message(
        _ candidates: [Candidate],
        _ validUntil: MonotonicInstant
    ) -> RelaySend {
        // Clocks of hosts differ: nothing on the wire lies further ahead than this.
        let latest = time.wall.second.adding(seconds: 1740)
        return RelaySend(
            messages: candidates.map {
                RelaySend.Message(
                    deviceToken: $0.target.deviceToken,
                    environment: $0.target.environment,
                    eventID: $0.held.row.eventID,
                    expiresAt: min($0.held.row.expiresAt, latest),
                    envelope: $0.envelope,
                    isYoung: $0.target.isYoung
                )
            },
            sendBy: boot.map {
                RelaySend.Instant(
                    boot: $0,
                    milliseconds: validUntil.nanoseconds / 1_000_000
                )
            }
        )
    }

    private func handBack(
        _ candidates: [Candidate],
        _ reason: String,
        after milliseconds: Int64 = 0,
        within spread: Int64 = 0
    ) async {
        await outcomes.write(
            candidates.map {
                let jitter = Int64(Double(spread) * random.unit())
                return $0.held.handedBack(reason, after: .milliseconds(milliseconds + jitter))
            }
        )
    }
}
