import Contracts
import DeliveryCore
import Testing

@Suite struct VerdictRuleTests {
    private func decide(
        _ outcome: Outcome,
        _ reason: String,
        _ scope: VerdictScope,
        _ exposure: Exposure,
        retryAfter: Int64? = nil,
        attempts: Int64 = 0,
        resends: Int = 0,
        hasExpired: Bool = false
    ) -> VerdictDecision {
        VerdictRule(
            verdict: RelayVerdicts.Verdict(
                index: 0,
                outcome: outcome,
                reason: reason,
                scope: scope,
                exposure: exposure,
                retryAfterMilliseconds: retryAfter
            ),
            environment: .sandbox,
            attempts: attempts,
            resends: resends,
            hasExpired: hasExpired,
            unit: 0.5
        ).decide()
    }

    @Test func acceptedEndsAndShowsThatEverythingWorks() {
        let decision = decide(.accepted, "Accepted", .message, .answered)
        #expect(decision.step == .settle(.accepted))
        #expect(decision.failing == nil)
        #expect(Set(decision.working) == [.relay, .provider(.sandbox), .topic(.sandbox)])
    }

    @Test func permanentKeepsItsReason() {
        let decision = decide(.permanent, "SomethingNew", .device, .answered)
        #expect(
            decision.step == .settle(.permanent(reason: "SomethingNew", isAttempt: true))
        )
    }

    @Test func relayNotConfiguredIsAPauseWhateverTheOutcome() {
        for outcome in [Outcome.permanent, .retryable] {
            let decision = decide(outcome, "RelayNotConfigured", .relay, .none, retryAfter: 30_000)
            #expect(decision.failing == .relay)
            #expect(decision.working.isEmpty)
            guard case .settle(.retry(_, let delay, false)) = decision.step else {
                Issue.record("not a retry")
                continue
            }
            #expect(delay >= 30_000)
        }
    }

    @Test func busyAndRateLimitedPauseTheRelay() {
        for reason in ["RelayBusy", "RateLimited"] {
            let decision = decide(.retryable, reason, .relay, .none, retryAfter: 60_000)
            #expect(decision.failing == .relay)
            guard case .settle(.retry(reason, _, false)) = decision.step else {
                Issue.record("counted as an attempt")
                continue
            }
        }
    }

    @Test func aTargetsOwnLimitPausesNobodyElse() {
        let decision = decide(.retryable, "RateLimited", .device, .none, retryAfter: 60_000)
        #expect(decision.failing == nil)
    }

    @Test func whatWasHandedBackUnsentShowsNothing() {
        let decision = decide(.retryable, "HandedBack", .device, .none)
        #expect(decision.working.isEmpty && decision.failing == nil)
        guard case .settle(.retry(_, _, false)) = decision.step else {
            Issue.record("counted as an attempt")
            return
        }
    }

    @Test func unprocessedSendsGoAgainAtOnceAndThenWait() {
        #expect(decide(.retryable, "Refused", .connection, .none).step == .resend)
        #expect(decide(.retryable, "Refused", .connection, .none, resends: 1).step == .resend)
        #expect(
            decide(.retryable, "Refused", .connection, .none, resends: 2).step
                == .settle(.retry(reason: "Refused", delayMilliseconds: 500, isAttempt: false))
        )
    }

    @Test func ambiguousSendsAreAttempts() {
        #expect(
            decide(.retryable, "NetworkUnavailable", .connection, .ambiguous, attempts: 2).step
                == .settle(
                    .retry(reason: "NetworkUnavailable", delayMilliseconds: 2000, isAttempt: true)
                )
        )
    }

    @Test func aLostAnswerOfTheProviderIsAnOrdinaryFailure() {
        let decision = decide(.retryable, "NetworkUnavailable", .provider, .ambiguous)
        #expect(decision.failing == .provider(.sandbox))
        #expect(
            decision.step
                == .settle(
                    .retry(reason: "NetworkUnavailable", delayMilliseconds: 500, isAttempt: true)
                )
        )
    }

    @Test func providerTroubleWaitsLongAndPausesTheProvider() {
        let decision = decide(.retryable, "ProviderUnavailable", .provider, .answered)
        #expect(decision.failing == .provider(.sandbox))
        #expect(decision.working == [.relay])
        #expect(
            decision.step
                == .settle(
                    .retry(
                        reason: "ProviderUnavailable",
                        delayMilliseconds: 30_000,
                        isAttempt: true
                    )
                )
        )
    }

    @Test func aRefusedShapeThatOurCheckPassedIsRetriedWithAnAlarm() {
        let decision = decide(.permanent, "InvalidRequest", .message, .none)
        #expect(decision.isAlarm)
        guard case .settle(.retry("InvalidRequest", let delay, false)) = decision.step else {
            Issue.record("not a retry")
            return
        }
        #expect((30_000...60_000).contains(delay))
    }

    @Test func expiredIsBelievedOnlyWhenOurClockAgrees() {
        #expect(
            decide(.expired, "Expired", .message, .none, hasExpired: true).step
                == .settle(.expired)
        )
        let early = decide(.expired, "Expired", .message, .none)
        #expect(early.isAlarm)
        guard case .settle(.retry(Reason.relayClock, _, false)) = early.step else {
            Issue.record("not a retry")
            return
        }
    }
}
