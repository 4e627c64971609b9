import Contracts

/// A signed-in phone, as its account sees it.
package struct Device: Hashable, Sendable {
    package let sessionID: SessionID
    package let installationID: InstallationID
    package let name: String
    package let pairedAt: UnixSeconds
    /// When it last signed in or refreshed, so at most one access token's life ago while in use.
    package let lastActiveAt: UnixSeconds
    package let expiresAt: UnixSeconds

    package init(
        sessionID: SessionID,
        installationID: InstallationID,
        name: String,
        pairedAt: UnixSeconds,
        lastActiveAt: UnixSeconds,
        expiresAt: UnixSeconds
    ) {
        self.sessionID = sessionID
        self.installationID = installationID
        self.name = name
        self.pairedAt = pairedAt
        self.lastActiveAt = lastActiveAt
        self.expiresAt = expiresAt
    }
}
