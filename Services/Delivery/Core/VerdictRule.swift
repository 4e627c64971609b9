import Contracts

/// What Delivery does about one verdict of a relay.
package struct VerdictDecision: Hashable, Sendable {
    package enum Step: Hashable, Sendable {
        /// Commit this change.
        case settle(RowChange)
        /// Provably not processed: hand it over again at once, on whatever path the relay takes.
        case resend
    }

    package var step: Step
    /// The scope that is in trouble, if the verdict says so.
    package var failing: PauseScope?
    /// Scopes that the verdict shows to work.
    package var working: [PauseScope] = []
    /// Whether an operator should look: our own check or clock disagrees with the relay's.
    package var isAlarm = false

    package init(_ step: Step) { self.step = step }
}

/// Turns verdicts into changes; pure, so that its table can be tested as one.
package struct VerdictRule: Sendable {
    package var verdict: RelayVerdicts.Verdict
    package var environment: APNsEnvironment
    /// Attempts of the row before this one.
    package var attempts: Int64
    /// How often this claim handed it over again already.
    package var resends: Int
    /// Whether the row's life has ended by its holder's clock.
    package var hasExpired: Bool
    /// A random number in 0..<1.
    package var unit: Double

    /// Hand-overs of one claim that proved unprocessed before the row goes back to waiting.
    package static let resendLimit = 2
    /// Shortest wait after a disagreement that time alone does not mend, and its spread.
    private static let alarmMilliseconds: Int64 = 30_000
    private static let alarmDelay = RetryDelay(baseMilliseconds: 30_000, capMilliseconds: 30_000)

    package init(
        verdict: RelayVerdicts.Verdict,
        environment: APNsEnvironment,
        attempts: Int64,
        resends: Int,
        hasExpired: Bool,
        unit: Double
    ) {
        self.verdict = verdict
        self.environment = environment
        self.attempts = attempts
        self.resends = resends
        self.hasExpired = hasExpired
        self.unit = unit
    }

    package func decide() -> VerdictDecision {
        var decision = step()
        decision.working = workingScopes()
        if let failing = decision.failing { decision.working.removeAll { $0 == failing } }
        return decision
    }

    private func step() -> VerdictDecision {
        switch (verdict.reason, verdict.outcome) {
        case (Reason.relayNotConfigured, _):
            var decision = VerdictDecision(.settle(retry(.ordinary, isAttempt: false)))
            decision.failing = .relay
            return decision
        case (Reason.invalidRequest, .permanent), (Reason.invalidRequest, .retryable):
            return alarm(verdict.reason)
        case (_, .accepted):
            return VerdictDecision(.settle(.accepted))
        case (_, .permanent):
            let isAttempt = verdict.exposure != .none
            return VerdictDecision(
                .settle(.permanent(reason: verdict.reason, isAttempt: isAttempt))
            )
        case (_, .expired):
            return expired()
        case (_, .retryable):
            return verdict.exposure == .none ? unprocessed() : failedAttempt()
        }
    }

    private func expired() -> VerdictDecision {
        hasExpired ? VerdictDecision(.settle(.expired)) : alarm(Reason.relayClock)
    }

    private func alarm(_ reason: String) -> VerdictDecision {
        let stated = max(verdict.retryAfterMilliseconds ?? 0, Self.alarmMilliseconds)
        let delay = Self.alarmDelay.milliseconds(failures: 1, stated: stated, unit: unit)
        var decision = VerdictDecision(
            .settle(.retry(reason: reason, delayMilliseconds: delay, isAttempt: false))
        )
        decision.isAlarm = true
        return decision
    }

    private func unprocessed() -> VerdictDecision {
        switch verdict.scope {
        case .connection, .message:
            if resends < Self.resendLimit { return VerdictDecision(.resend) }
            return VerdictDecision(.settle(retry(.ordinary, isAttempt: false)))
        case .device:
            return VerdictDecision(.settle(retry(.ordinary, isAttempt: false)))
        case .relay, .provider, .topic:
            var decision = VerdictDecision(.settle(retry(.ordinary, isAttempt: false)))
            decision.failing = failingScope()
            return decision
        }
    }

    private func failedAttempt() -> VerdictDecision {
        // The long delays are for the provider's own answers; a lost answer is an ordinary failure.
        let isProviderTrouble =
            verdict.exposure == .answered && [.provider, .topic].contains(verdict.scope)
        let delay: RetryDelay = isProviderTrouble ? .provider : .ordinary
        var decision = VerdictDecision(.settle(retry(delay, isAttempt: true)))
        decision.failing = failingScope()
        return decision
    }

    private func retry(_ delay: RetryDelay, isAttempt: Bool) -> RowChange {
        .retry(
            reason: verdict.reason,
            delayMilliseconds: delay.milliseconds(
                failures: attempts + 1,
                stated: verdict.retryAfterMilliseconds,
                unit: unit
            ),
            isAttempt: isAttempt
        )
    }

    private func failingScope() -> PauseScope? {
        switch verdict.scope {
        case .relay: .relay
        case .provider: .provider(environment)
        case .topic: .topic(environment)
        case .message, .device, .connection: nil
        }
    }

    private func workingScopes() -> [PauseScope] {
        // What came back without having been sent shows nothing.
        let saysNothing =
            verdict.reason == Reason.relayNotConfigured || verdict.reason == Reason.handedBack
        guard verdict.scope != .relay, !saysNothing else { return [] }
        switch (verdict.exposure, verdict.scope) {
        case (.answered, .message), (.answered, .device):
            return [.relay, .provider(environment), .topic(environment)]
        case (.answered, .topic):
            return [.relay, .provider(environment)]
        default:
            return [.relay]
        }
    }
}
