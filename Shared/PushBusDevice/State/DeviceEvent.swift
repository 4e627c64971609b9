import Contracts

/// Something that happens to the phone: a wish, a word of the system, an answer of the server.
package enum DeviceEvent: Sendable {
    /// Why the phone looks after itself.
    package enum Occasion: Sendable, CaseIterable {
        case launch
        case foreground
        case networkRecovered
        case beforeSignIn
    }

    /// A login was made; the key is its own.
    case signedIn(Session, KeyID)
    case signOut
    case disclosureShown
    case choose(PreferenceChanges)
    /// Somebody pressed Retry.
    case retry
    case reconcile(Occasion)
    /// A new content key is to take the place of the current one.
    case keyStaged(KeyID)
    case permission(PermissionStatus)
    case issued(Result<IssuedToken, DeviceError>)
    /// An answer to something that was asked for a login; one of another generation changes nothing.
    case answered(Answer, generation: Int64)
    /// What became of the attempt to end a session by its evidence.
    case ended(SessionID, Result<Void, DeviceError>)
    /// Somebody chose the session to end in a recovery.
    case selected(SessionID)
    /// The server's list in an authorized recovery of that session.
    case listed(SessionID, [SessionID])
    /// The server confirmed that it ended the selected session.
    case recovered(SessionID)
    case tapped(TapTarget)
    /// The tap led somewhere, or somebody dismissed it.
    case tapDone(TapTarget)

    package enum Answer: Sendable {
        case proof(Result<DeletionProof, DeviceError>)
        case settings(Result<PushSettings, DeviceError>)
        case saved(Result<PushSettings, DeviceError>, of: PushPreferences)
        case registered(Result<PushSettings, DeviceError>, Enrollment.Registration)
        /// A process begins to trade the refresh token.
        case refreshing(owner: String)
        /// The trade failed in a way that says nothing about the login.
        case refreshFailed
        case refreshed(Session)
        /// The server refuses the refresh token for good.
        case rejected
    }
}
