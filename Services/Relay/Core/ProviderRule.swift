import Contracts

/// One documented answer of APNs and what it means here: the table of the whole classification
/// (Apple's page "Handling notification responses from APNs").
package struct ProviderRule: Hashable, Sendable {
    /// The status Apple documents with the reason.
    package let status: Int
    package let reason: String
    package let treatment: Treatment

    package static let table: [ProviderRule] = [
        ProviderRule(400, "BadCollapseId", .messageRefused),
        ProviderRule(400, "BadDeviceToken", .deviceSuspect),
        ProviderRule(400, "BadExpirationDate", .messageRefused),
        ProviderRule(400, "BadMessageId", .messageRefused),
        ProviderRule(400, "BadPriority", .messageRefused),
        ProviderRule(400, "BadTopic", .topicHeld),
        ProviderRule(400, "DeviceTokenNotForTopic", .deviceOtherTopic),
        ProviderRule(400, "DuplicateHeaders", .messageRefused),
        ProviderRule(400, "IdleTimeout", .connectionIdle),
        ProviderRule(400, "InvalidPushType", .messageRefused),
        ProviderRule(400, "MissingDeviceToken", .messageRefused),
        ProviderRule(400, "MissingTopic", .topicHeld),
        ProviderRule(400, "PayloadEmpty", .messageRefused),
        ProviderRule(400, "TopicDisallowed", .topicHeld),
        ProviderRule(403, "BadCertificate", .providerHeld),
        ProviderRule(403, "BadCertificateEnvironment", .providerHeld),
        ProviderRule(403, "BadEnvironmentKeyIdInToken", .providerHeld),
        // Seen on the wire without "Id".
        ProviderRule(403, "BadEnvironmentKeyInToken", .providerHeld),
        ProviderRule(403, "ExpiredProviderToken", .tokenExpired),
        ProviderRule(403, "Forbidden", .messageRefused),
        ProviderRule(403, "InvalidProviderToken", .providerHeld),
        ProviderRule(403, "MissingProviderToken", .providerHeld),
        ProviderRule(403, "UnrelatedKeyIdInToken", .keyUnrelated),
        ProviderRule(404, "BadPath", .messageRefused),
        ProviderRule(405, "MethodNotAllowed", .messageRefused),
        ProviderRule(410, "ExpiredToken", .deviceDead),
        ProviderRule(410, "Unregistered", .deviceDead),
        ProviderRule(413, "PayloadTooLarge", .messageRefused),
        ProviderRule(429, "TooManyProviderTokenUpdates", .tokenUpdates),
        ProviderRule(429, "TooManyRequests", .deviceThrottled),
        ProviderRule(500, "InternalServerError", .serverFailed),
        ProviderRule(503, "ServiceUnavailable", .serverFailed),
        ProviderRule(503, "Shutdown", .serverFailed),
    ]

    private static let byReason = Dictionary(
        uniqueKeysWithValues: table.map { ($0.reason, $0) }
    )

    private init(_ status: Int, _ reason: String, _ treatment: Treatment) {
        self.status = status
        self.reason = reason
        self.treatment = treatment
    }

    /// The treatment of an answer: by reason first, then by status.
    package static func treatment(of answer: ProviderAnswer) -> Treatment {
        switch (answer.status, answer.body) {
        case (200, .empty): return .accepted
        case (200, _): return .unintelligible
        case (400..., .reason(let reason, _)):
            if let rule = byReason[reason] { return rule.treatment }
        case (300..<400, _): return .messageRefused
        case (500..., _): return .serverFailed
        case (429, .empty): return .deviceThrottled
        case (400..<500, .empty), (400..<500, .unusable): return .unintelligible
        default: return .unintelligible
        }
        switch answer.status {
        case 429: return .deviceThrottled
        case 400..<500: return .messageRefused
        default: return .serverFailed
        }
    }

    /// Whether a reason may stand in a log line: one of the table, or letters alone, as no device
    /// token or key is that a peer might send back.
    package static func mayBeLogged(_ reason: String) -> Bool {
        isKnown(reason)
            || (1...64).contains(reason.utf8.count)
                && reason.utf8.allSatisfy {
                    (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0)
                }
    }

    /// Whether a reason is one of the table, and so may be a label of a counter.
    package static func isKnown(_ reason: String) -> Bool { byReason[reason] != nil }
}

/// What an answer of APNs asks for.
package enum Treatment: Hashable, Sendable, CaseIterable {
    case accepted
    /// The token is finished.
    case deviceDead
    /// Token and environment may not belong together; never a reason to delete.
    case deviceSuspect
    /// The token is one of another topic.
    case deviceOtherTopic
    /// Too many pushes to one device.
    case deviceThrottled
    /// The same bytes would fail again.
    case messageRefused
    /// This connection has nothing more to give.
    case connectionIdle
    /// The provider token is too old, or our clock is wrong.
    case tokenExpired
    /// This connection is bound to another key: once more over a new one.
    case keyUnrelated
    /// This connection saw too many tokens.
    case tokenUpdates
    /// The operator must mend key, team or environment.
    case providerHeld
    /// The operator must mend the topic.
    case topicHeld
    /// Apple's side failed.
    case serverFailed
    /// An answer that contradicts itself or cannot be read.
    case unintelligible

    /// Whether people should look: the sender, its configuration or its clock is at fault.
    package var raisesAlarm: Bool {
        switch self {
        case .messageRefused, .tokenExpired, .tokenUpdates, .keyUnrelated, .providerHeld,
            .topicHeld:
            true
        case .accepted, .deviceDead, .deviceSuspect, .deviceOtherTopic, .deviceThrottled,
            .connectionIdle, .serverFailed, .unintelligible:
            false
        }
    }

    /// The verdict of a message whose last answer was this one.
    package func verdict(for answer: ProviderAnswer) -> RelayVerdict {
        var reason = "Status\(answer.status)"
        var timestamp: UnixMilliseconds?
        if case .reason(let word, let moment) = answer.body {
            reason = word
            timestamp = moment
        }
        func make(
            _ outcome: Outcome,
            _ publicReason: String,
            _ scope: VerdictScope,
            cleanup: CleanupKind? = nil,
            retryAfter: Int64? = nil
        ) -> RelayVerdict {
            RelayVerdict(
                outcome,
                reason: reason,
                publicReason: publicReason,
                isDeviceInvalid: self == .deviceDead,
                scope: scope,
                exposure: .answered,
                cleanup: cleanup,
                retryAfterMilliseconds: outcome == .retryable
                    ? max(retryAfter ?? 0, answer.retryAfterMilliseconds ?? 0) : nil,
                apnsTimestamp: timestamp
            )
        }
        switch self {
        case .accepted:
            return RelayVerdict(
                .accepted,
                reason: "Accepted",
                scope: .message,
                exposure: .answered
            )
        case .deviceDead:
            // Without a timestamp nobody can tell whether the app registered since.
            let cleanup: CleanupKind = timestamp == nil ? .suspect : .dead
            return make(.permanent, "Unregistered", .device, cleanup: cleanup)
        case .deviceSuspect:
            return make(.permanent, "DeviceOrEnvironmentMismatch", .device, cleanup: .suspect)
        case .deviceOtherTopic:
            return make(.permanent, "ProviderConfigurationOrPayload", .device, cleanup: .topic)
        case .deviceThrottled:
            return make(
                .retryable,
                "ProviderUnavailable",
                .device,
                retryAfter: DeviceThrottles.baseMilliseconds
            )
        case .messageRefused:
            return make(.permanent, "ProviderConfigurationOrPayload", .message)
        case .connectionIdle, .tokenUpdates:
            return make(.retryable, "ProviderUnavailable", .connection, retryAfter: 1_000)
        case .tokenExpired, .keyUnrelated, .providerHeld:
            return make(.retryable, "ProviderUnavailable", .provider, retryAfter: 30_000)
        case .topicHeld:
            return make(.retryable, "ProviderUnavailable", .topic, retryAfter: 30_000)
        case .serverFailed:
            return make(.retryable, "ProviderUnavailable", .provider, retryAfter: 15_000)
        case .unintelligible:
            reason = "NetworkUnavailable"
            return make(.retryable, "NetworkUnavailable", .provider, retryAfter: 1_000)
        }
    }
}
