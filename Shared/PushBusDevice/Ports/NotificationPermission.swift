/// Whether the person lets the app notify; the app asks its system.
package protocol NotificationPermission: Sendable {
    /// What the system says now; asks nobody.
    func status() async -> PermissionStatus
    /// Has the system ask, which it does at most once; returns what holds then.
    func request() async -> PermissionStatus
}

/// What the person has decided. It is the phone's alone: the server never hears of it.
package enum PermissionStatus: String, Codable, Hashable, Sendable {
    case notAsked = "not_asked"
    case denied
    case granted
}
