import Contracts
import DeliveryCore
import ServiceKit

/// The messages of one hand-over, from the first verdict to the last.
struct RelayFlight {
    private let candidates: [SendRound.Candidate]
    private let round: SendRound
    private let resends: Int
    private var isOpen: [Bool]
    private var again: [SendRound.Candidate] = []

    init(_ candidates: [SendRound.Candidate], round: SendRound, resends: Int) {
        self.candidates = candidates
        self.round = round
        self.resends = resends
        isOpen = Array(repeating: true, count: candidates.count)
    }

    /// Turns verdicts into outcomes; a second verdict for a message and an index out of range are
    /// counted and left out.
    mutating func take(_ message: RelayVerdicts) async {
        var taken: [(verdict: RelayVerdicts.Verdict, row: HeldRow, environment: APNsEnvironment)] =
            []
        for var verdict in message.verdicts {
            verdict.reason = Reason.relayed(verdict.reason)
            guard isOpen.indices.contains(verdict.index), isOpen[verdict.index] else {
                round.metrics.alarm(.malformedAnswer)
                continue
            }
            isOpen[verdict.index] = false
            let candidate = candidates[verdict.index]
            taken.append((verdict, candidate.held, candidate.target.environment))
        }
        let decisions = await round.desk.decide(taken, resends: resends)
        var outcomes: [RowOutcome] = []
        for ((verdict, held, _), decision) in zip(taken, decisions) {
            let candidate = candidates[verdict.index]
            if decision.isAlarm {
                round.metrics.alarm(.relayDisagrees)
                round.log.error("relay disagrees", ["reason": .string(verdict.reason)])
            }
            switch decision.step {
            case .resend:
                again.append(candidate)
            case .settle(let change):
                outcomes.append(held.outcome(change, cleanup: note(verdict, candidate.target)))
            }
        }
        await round.outcomes.write(outcomes)
    }

    /// Decides about messages without a verdict and returns what is to be sent again.
    mutating func finish(_ end: RelayEnd) async -> [SendRound.Candidate] {
        let silent = candidates.indices.filter { isOpen[$0] }.map { candidates[$0].held }
        var outcomes: [RowOutcome] = []
        switch end {
        case .complete, .broken:
            if end == .broken {
                await round.desk.relayFailed(Reason.relayNoVerdict, retryAfterMilliseconds: nil)
            }
            for held in silent {
                outcomes.append(
                    held.outcome(
                        .retry(
                            reason: Reason.relayNoVerdict,
                            delayMilliseconds: await round.desk.ordinaryDelay(
                                after: held.row.attempts
                            ).milliseconds,
                            isAttempt: true
                        )
                    )
                )
            }
        case .refused(let reason, let stated):
            round.log.warning("relay refused a batch", ["reason": .string(reason)])
            await round.desk.relayFailed(reason, retryAfterMilliseconds: stated)
            for held in silent {
                let delay = await round.desk.ordinaryDelay(after: held.row.attempts)
                outcomes.append(held.handedBack(reason, after: delay))
            }
        }
        await round.outcomes.write(outcomes)
        return again
    }

    private func note(
        _ verdict: RelayVerdicts.Verdict,
        _ target: EligibilityCheckAnswer.Target
    ) -> CleanupNote? {
        guard let kind = verdict.cleanup else { return nil }
        return CleanupNote(
            tokenHash: Blob(round.hashToken(target.deviceToken)),
            kind: kind,
            apnsTimestamp: verdict.apnsTimestamp,
            confirmedAt: target.confirmedAt
        )
    }
}
