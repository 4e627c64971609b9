import Contracts

/// What `settings` tells the app about its installation.
package struct SettingsView: Hashable, Sendable {
    package let revision: Int64
    package let preferences: Preferences
    package let securityAllowed: Bool
    package let tasksAllowed: Bool
    package let registered: Bool
    /// Why nothing is delivered now; nil when it is.
    package let obstacle: String?

    package init(_ installation: Installation, caller: Caller, access: Installation.Access) {
        revision = installation.revision
        securityAllowed = caller.role.permits(.security)
        tasksAllowed = caller.role.permits(.taskFailure)
        guard access == .own else {
            preferences = Preferences()
            registered = false
            obstacle = access == .ownedElsewhere ? "owned_elsewhere" : "not_enabled"
            return
        }
        preferences = installation.preferences
        let current = installation.registration.flatMap { registration in
            registration.sessionID == caller.session.id ? registration : nil
        }
        registered = current != nil
        if !preferences.enabled {
            obstacle = "not_enabled"
        } else if let current {
            obstacle = current.doubt == nil ? nil : "suspect"
        } else {
            obstacle = "not_registered"
        }
    }
}
