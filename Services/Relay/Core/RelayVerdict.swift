import Contracts

/// What became of one message, with everything either of the two interfaces says about it.
package struct RelayVerdict: Hashable, Sendable {
    package var outcome: Outcome
    /// The provider's own word if it gave one, else a word of the relay contract.
    package var reason: String
    /// The word that `POST /v1/send` answers.
    package var publicReason: String
    /// `device_invalid` of `POST /v1/send`.
    package var isDeviceInvalid: Bool
    package var scope: VerdictScope
    package var exposure: Exposure
    package var cleanup: CleanupKind?
    /// When a retry makes sense at the earliest, from now.
    package var retryAfterMilliseconds: Int64?
    /// When APNs learned that the token was dead.
    package var apnsTimestamp: UnixMilliseconds?

    package init(
        _ outcome: Outcome,
        reason: String,
        publicReason: String? = nil,
        isDeviceInvalid: Bool = false,
        scope: VerdictScope,
        exposure: Exposure,
        cleanup: CleanupKind? = nil,
        retryAfterMilliseconds: Int64? = nil,
        apnsTimestamp: UnixMilliseconds? = nil
    ) {
        self.outcome = outcome
        self.reason = reason
        self.publicReason = publicReason ?? reason
        self.isDeviceInvalid = isDeviceInvalid
        self.scope = scope
        self.exposure = exposure
        self.cleanup = cleanup
        self.retryAfterMilliseconds = retryAfterMilliseconds
        self.apnsTimestamp = apnsTimestamp
    }

    /// The same verdict as an entry of `relay.verdict.v1`.
    package func entry(at index: Int) -> RelayVerdicts.Verdict {
        RelayVerdicts.Verdict(
            index: index,
            outcome: outcome,
            reason: reason,
            scope: scope,
            exposure: exposure,
            cleanup: cleanup,
            retryAfterMilliseconds: retryAfterMilliseconds,
            apnsTimestamp: apnsTimestamp
        )
    }
}

extension RelayVerdict {
    /// The message's life is over; APNs was not asked.
    package static let expired = RelayVerdict(
        .expired,
        reason: "Expired",
        scope: .message,
        exposure: .none
    )

    /// Our own payload would be larger than APNs takes.
    package static let payloadTooLarge = RelayVerdict(
        .permanent,
        reason: "PayloadTooLarge",
        scope: .message,
        exposure: .none
    )

    /// This relay does not serve the message's environment.
    package static let environmentDisabled = RelayVerdict(
        .permanent,
        reason: "EnvironmentDisabled",
        scope: .relay,
        exposure: .none
    )

    /// Credentials are missing or unusable; the operator must act.
    package static let notConfigured = RelayVerdict(
        .retryable,
        reason: "RelayNotConfigured",
        scope: .relay,
        exposure: .none,
        retryAfterMilliseconds: 60_000
    )

    /// No room at the moment; nothing is wrong with the message.
    package static func busy(retryAfterMilliseconds: Int64 = 1_000) -> RelayVerdict {
        RelayVerdict(
            .retryable,
            reason: "RelayBusy",
            scope: .relay,
            exposure: .none,
            retryAfterMilliseconds: retryAfterMilliseconds
        )
    }

    /// Breaks a rule of the request contract.
    package static let invalidRequest = RelayVerdict(
        .permanent,
        reason: "InvalidRequest",
        scope: .message,
        exposure: .none
    )

    /// No usable answer: not reached, no answer in time, or one that makes no sense.
    package static func network(
        _ exposure: Exposure,
        retryAfterMilliseconds: Int64? = nil
    ) -> RelayVerdict {
        RelayVerdict(
            .retryable,
            reason: "NetworkUnavailable",
            scope: .provider,
            exposure: exposure,
            retryAfterMilliseconds: retryAfterMilliseconds
        )
    }

    /// Held back because APNs said that the device gets too much.
    package static func throttled(retryAfterMilliseconds: Int64) -> RelayVerdict {
        .held(
            reason: "TooManyRequests",
            scope: .device,
            retryAfterMilliseconds: retryAfterMilliseconds
        )
    }

    /// Held back because of an earlier answer of the provider with that reason.
    package static func held(
        reason: String,
        scope: VerdictScope,
        retryAfterMilliseconds: Int64
    ) -> RelayVerdict {
        RelayVerdict(
            .retryable,
            reason: reason,
            publicReason: "ProviderUnavailable",
            scope: scope,
            exposure: .none,
            retryAfterMilliseconds: max(1, retryAfterMilliseconds)
        )
    }
}
