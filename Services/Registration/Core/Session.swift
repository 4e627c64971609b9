import Contracts

/// How long tokens and codes last.
package struct SessionLifetimes: Hashable, Sendable {
    /// The shortest life of an access token. A phone refreshes a minute before its end, and what is
    /// remembered of a session (``Revocation/mostUsedTokens``) has to reach back 30 days.
    package static let shortestAccessSeconds: Int64 = 720

    /// Of an access token; using it does not extend it.
    package var accessSeconds: Int64
    /// Of a session, counted from its login; refreshing does not extend it.
    package var sessionSeconds: Int64
    /// Of a pairing code.
    package var pairingSeconds: Int64

    package init(
        accessSeconds: Int64 = 900,
        sessionSeconds: Int64 = 2_592_000,
        pairingSeconds: Int64 = 300
    ) {
        self.accessSeconds = accessSeconds
        self.sessionSeconds = sessionSeconds
        self.pairingSeconds = pairingSeconds
    }

    /// When an access token that is made now ends: never after its session.
    package func accessEnd(now: UnixSeconds, sessionEnd: UnixSeconds) -> UnixSeconds {
        min(now.adding(seconds: accessSeconds), sessionEnd)
    }
}

/// The hashes of the two tokens of a session, which are all that is stored of them.
package struct TokenHashes: Hashable, Sendable {
    package let access: Blob
    package let refresh: Blob

    package init(access: Blob, refresh: Blob) {
        self.access = access
        self.refresh = refresh
    }
}

/// One login of one installation.
package struct Session: Hashable, Sendable {
    package let id: SessionID
    package let userID: UserID
    package let installationID: InstallationID
    package let deviceName: String
    package let createdAt: UnixSeconds
    package let expiresAt: UnixSeconds
    package var accessExpiresAt: UnixSeconds

    package init(
        id: SessionID,
        userID: UserID,
        installationID: InstallationID,
        deviceName: String,
        createdAt: UnixSeconds,
        expiresAt: UnixSeconds,
        accessExpiresAt: UnixSeconds
    ) {
        self.id = id
        self.userID = userID
        self.installationID = installationID
        self.deviceName = deviceName
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.accessExpiresAt = accessExpiresAt
    }

    /// How long an expired session can still be found and ended by who lost it, in seconds.
    package static let retentionSeconds: Int64 = 2_592_000

    /// Whether it still counts; at its end it does not.
    package func isAlive(at now: UnixSeconds) -> Bool { now < expiresAt }
}

/// Who an accepted access token speaks for, as of now.
package struct Caller: Hashable, Sendable {
    package let session: Session
    package let role: Role

    package init(session: Session, role: Role) {
        self.session = session
        self.role = role
    }
}

/// An account without its password.
package struct Account: Hashable, Sendable {
    package let id: UserID
    package let username: String
    package let role: Role

    package init(id: UserID, username: String, role: Role) {
        self.id = id
        self.username = username
        self.role = role
    }
}

/// An account as the operator sees it.
package struct AccountSummary: Hashable, Sendable {
    package let account: Account
    package let createdAt: UnixSeconds
    /// Live sessions.
    package let devices: Int64
    /// Whether sign-in asks for a one-time code.
    package let totp: Bool

    package init(account: Account, createdAt: UnixSeconds, devices: Int64, totp: Bool) {
        self.account = account
        self.createdAt = createdAt
        self.devices = devices
        self.totp = totp
    }
}

extension Role {
    /// Security and tasks are for administrators, everything else is for everybody.
    package func permits(_ category: Category) -> Bool {
        switch category {
        case .test, .alert: true
        case .security, .taskFailure, .taskSuccess: self == .admin
        }
    }
}
