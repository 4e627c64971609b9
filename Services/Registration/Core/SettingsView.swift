import Contracts

/// Why nothing is delivered to an installation now, the first reason that holds. None of them is the
/// permission of the phone's owner, which the server does not know.
package enum DeliveryObstacle: String, CaseIterable, Sendable {
    /// Another account's login still owns the installation.
    case ownedElsewhere = "owned_elsewhere"
    case notEnabled = "not_enabled"
    case notRegistered = "not_registered"
    /// The provider refused the token or its environment: register again.
    case suspect
    /// The relay has no credentials for the provider.
    case relayNotConfigured = "relay_not_configured"
    /// The session ends before a notification of now would: sign in again.
    case sessionExpiring = "session_expiring"
}

/// What `settings` tells the app about its installation.
package struct SettingsView: Hashable, Sendable {
    package let revision: Int64
    package let preferences: Preferences
    package let securityAllowed: Bool
    package let tasksAllowed: Bool
    package let registered: Bool
    private let standing: DeliveryObstacle?
    private let sessionExpiresAt: UnixSeconds

    /// How long a notification lives, in seconds.
    private static let notificationSeconds: Int64 = 1800

    package init(_ installation: Installation, caller: Caller, access: Installation.Access) {
        revision = installation.revision
        securityAllowed = caller.role.permits(.security)
        tasksAllowed = caller.role.permits(.taskFailure)
        sessionExpiresAt = caller.session.expiresAt
        guard access == .own else {
            preferences = Preferences()
            registered = false
            standing = access == .ownedElsewhere ? .ownedElsewhere : .notEnabled
            return
        }
        preferences = installation.preferences
        let current = installation.registration.flatMap { registration in
            registration.sessionID == caller.session.id ? registration : nil
        }
        registered = current != nil
        if !preferences.enabled {
            standing = .notEnabled
        } else if let current {
            standing = current.doubt == nil ? nil : .suspect
        } else {
            standing = .notRegistered
        }
    }

    /// As far as installation and session tell; nil when they let notifications through.
    package func obstacle(now: UnixSeconds) -> DeliveryObstacle? {
        if let standing { return standing }
        let left = sessionExpiresAt.seconds - now.seconds
        return left < Self.notificationSeconds ? .sessionExpiring : nil
    }
}
