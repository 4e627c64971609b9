import Contracts

/// One session of an account, as its owner sees it.
package struct SignedInDevice: Codable, Hashable, Sendable {
    package var sessionID: SessionID
    package var installationID: InstallationID
    package var name: String
    package var pairedAt: UnixSeconds
    package var lastActiveAt: UnixSeconds
    package var expiresAt: UnixSeconds
    /// Whether it is the login that asked; nil in recovery.
    package var isCurrent: Bool?

    enum CodingKeys: String, CodingKey {
        case sessionID = "session_id"
        case installationID = "installation_id"
        case name
        case pairedAt = "paired_at"
        case lastActiveAt = "last_active_at"
        case expiresAt = "expires_at"
        case isCurrent = "current"
    }
}
