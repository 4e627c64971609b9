import Contracts

/// What a reason of the reference contract says beyond the outcome (contracts §1.2).
struct ReplyMeaning: Hashable, Sendable {
    var scope: VerdictScope
    var exposure: Exposure
    var cleanup: CleanupKind?

    private struct Row {
        var outcomes: Set<Outcome>
        var meaning: ReplyMeaning

        init(
            _ outcomes: Set<Outcome>,
            _ scope: VerdictScope,
            _ exposure: Exposure,
            cleanup: CleanupKind? = nil
        ) {
            self.outcomes = outcomes
            meaning = ReplyMeaning(scope: scope, exposure: exposure, cleanup: cleanup)
        }
    }

    private static let table: [String: Row] = [
        "Accepted": Row([.accepted], .message, .answered),
        "Unregistered": Row([.permanent], .device, .answered, cleanup: .suspect),
        "DeviceOrEnvironmentMismatch":
            Row([.permanent], .device, .answered, cleanup: .suspect),
        "ProviderConfigurationOrPayload": Row([.permanent], .message, .answered),
        "ProviderUnavailable": Row([.retryable], .provider, .answered),
        "NetworkUnavailable": Row([.retryable], .provider, .ambiguous),
        "Expired": Row([.expired], .message, .none),
        "PayloadTooLarge": Row([.permanent], .message, .none),
        "RelayNotConfigured": Row([.permanent, .retryable], .relay, .none),
        "InvalidRequest": Row([.permanent, .retryable], .message, .none),
        "EnvironmentDisabled": Row([.permanent], .relay, .none),
        "NotFound": Row([.permanent], .relay, .none),
        "MethodNotAllowed": Row([.permanent], .relay, .none),
        // The upload was slow, not the relay: it goes again over another connection.
        "RequestTimeout": Row([.retryable], .connection, .none),
        "RequestTooLarge": Row([.permanent], .message, .none),
        "UnsupportedMediaType": Row([.permanent], .relay, .none),
        "RateLimited": Row([.retryable], .relay, .none),
        "RelayBusy": Row([.retryable], .relay, .none),
    ]

    private init(scope: VerdictScope, exposure: Exposure, cleanup: CleanupKind? = nil) {
        self.scope = scope
        self.exposure = exposure
        self.cleanup = cleanup
    }

    /// An unknown reason, or a known one with another outcome, is about the message alone and counts
    /// as an attempt.
    init(of content: RelayReply.Content) {
        if let row = Self.table[content.reason], row.outcomes.contains(content.outcome) {
            self = row.meaning
        } else {
            switch content.outcome {
            case .accepted, .permanent: self.init(scope: .message, exposure: .answered)
            case .expired: self.init(scope: .message, exposure: .none)
            case .retryable: self.init(scope: .message, exposure: .ambiguous)
            }
        }
        if content.isDeviceInvalid && content.outcome == .permanent {
            self.init(scope: .device, exposure: .answered, cleanup: .suspect)
        }
    }
}
