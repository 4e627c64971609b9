import Contracts

/// Where a tap on a notification leads: decisions without waiting.
package enum TapRouting {
    /// What the app does with a tap.
    package enum Outcome: Hashable, Sendable {
        /// Nobody is signed in: the tap waits.
        case buffered
        case open(TapTarget.Destination)
        /// Nothing is opened; a text says why, and people can dismiss it.
        case fallback(Fallback)
    }

    /// Why a tap leads nowhere.
    package enum Fallback: String, Codable, Hashable, Sendable, CaseIterable {
        /// The notification was for another deployment, account or installation.
        case otherLogin = "other_login"
        /// Overwritten or deleted.
        case alertNotFound = "alert_not_found"
        case gone
        case forbidden
        /// No answer: the tap is kept, and can be tried again.
        case unreachable
        /// Nothing is known of the notification.
        case unknown

        /// Whether trying again makes sense.
        package var canRetry: Bool { self == .unreachable }

        package var text: TextKey {
            switch self {
            case .otherLogin: .targetOfOtherLogin
            case .alertNotFound: .alertNotFound
            case .gone: .targetGone
            case .forbidden: .targetForbidden
            case .unreachable: .targetUnreachable
            case .unknown: .targetUnknown
            }
        }
    }

    /// What has to be known before something is opened.
    enum Step: Hashable, Sendable {
        case done(Outcome)
        /// Whether the account is an administrator now, by the server's word.
        case checkAdmin(TapTarget.Destination)
        case look(TapTarget.Destination)
    }

    /// Begins: who is signed in, and whether the notification was for them.
    static func first(_ target: TapTarget, signedInAs identity: EnvelopeIdentity?) -> Step {
        guard let identity else { return .done(.buffered) }
        guard let destination = target.destination(for: identity) else {
            return .done(.fallback(.otherLogin))
        }
        switch destination {
        case .settings: return .done(.open(.settings))
        case .security: return .checkAdmin(destination)
        case .alert, .taskRun: return .look(destination)
        }
    }

    /// Goes on with the settings that the server answered just now.
    static func afterAdminCheck(
        _ destination: TapTarget.Destination,
        _ settings: Result<PushSettings, DeviceError>
    ) -> Step {
        switch settings {
        case .success(let settings):
            settings.securityAllowed ? .look(destination) : .done(.fallback(.forbidden))
        case .failure(let error):
            .done(.fallback(error.code == .forbidden ? .forbidden : .unreachable))
        }
    }

    /// Ends with what the lookup found; only exactly what was asked for is opened.
    static func afterLookup(
        _ destination: TapTarget.Destination,
        _ answer: TargetAnswer
    ) -> Outcome {
        switch answer {
        case .available(destination): return .open(destination)
        case .available, .gone:
            if case .alert = destination { return .fallback(.alertNotFound) }
            return .fallback(.gone)
        case .forbidden: return .fallback(.forbidden)
        case .unreachable: return .fallback(.unreachable)
        }
    }
}
