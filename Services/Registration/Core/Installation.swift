import Contracts

/// Numbers that order registrations and subscriptions; the store keeps the last one in a single row
/// and advances it in the transaction that uses the number.
package struct BindingCounter: Hashable, Sendable {
    package private(set) var value: Int64

    package init(_ value: Int64) { self.value = value }

    package mutating func next() -> Int64 {
        value += 1
        return value
    }
}

/// Where an installation is reached and with which key, as its owner's session registered it.
package struct DeviceRegistration: Hashable, Sendable {
    package var sessionID: SessionID
    package var deploymentID: DeploymentID
    package var token: DeviceToken
    package var environment: APNsEnvironment
    package var keyID: KeyID
    /// Tells equal keys from different ones without the key.
    package var keyDigest: Blob
    /// The content key under the master key.
    package var sealedKey: Blob
    /// When the app last confirmed it.
    package var confirmedAt: UnixMilliseconds
    /// What the provider holds against it; nil while nothing.
    package var doubt: CleanupKind?

    package init(
        sessionID: SessionID,
        deploymentID: DeploymentID,
        token: DeviceToken,
        environment: APNsEnvironment,
        keyID: KeyID,
        keyDigest: Blob,
        sealedKey: Blob,
        confirmedAt: UnixMilliseconds,
        doubt: CleanupKind? = nil
    ) {
        self.sessionID = sessionID
        self.deploymentID = deploymentID
        self.token = token
        self.environment = environment
        self.keyID = keyID
        self.keyDigest = keyDigest
        self.sealedKey = sealedKey
        self.confirmedAt = confirmedAt
        self.doubt = doubt
    }

    /// Whether nothing has changed that queued messages depend on.
    package func hasIdentity(of other: Self) -> Bool {
        sessionID == other.sessionID && deploymentID == other.deploymentID
            && token == other.token && environment == other.environment
            && keyID == other.keyID && keyDigest == other.keyDigest
    }
}

/// One installation of the app: its owner, where it is reached, what it wants.
package struct Installation: Hashable, Sendable {
    package let id: InstallationID
    package var userID: UserID?
    package var registration: DeviceRegistration?
    /// Fences queued messages: a new number at every real change of the registration.
    package var binding: Int64 = 0
    package var boundAt = UnixMilliseconds(0)
    /// The optimistic lock of the API; grows at every write.
    package var revision: Int64 = 0
    package var preferences = Preferences()
    /// The number at which a category was switched on or its role gained; 0 where it never was.
    package var since: [Category: Int64] = [:]

    package init(id: InstallationID) { self.id = id }

    /// How the caller stands to this installation.
    package enum Access: Hashable, Sendable {
        case own
        /// Nobody else is signed in: the caller may take it over.
        case free
        case ownedElsewhere
    }

    /// `ownerIsSignedIn` says whether the owner has a live session on this installation.
    package func access(of caller: Caller, ownerIsSignedIn: Bool) -> Access {
        if userID == caller.session.userID { return .own }
        return userID != nil && ownerIsSignedIn ? .ownedElsewhere : .free
    }
}

extension Installation {
    /// Saves preferences; a category that is switched on takes a new number.
    package mutating func save(
        _ update: SettingsUpdate,
        by caller: Caller,
        access: Access,
        counter: inout BindingCounter
    ) throws(RequestProblem) {
        if access == .ownedElsewhere { throw .ownedElsewhere }
        // After a demotion, switching off is not refused for what was chosen before: it clears that.
        let wanted =
            update.preferences.enabled || access == .free
            ? update.preferences
            : update.preferences.without(lostBy: caller.role, in: preferences)
        if wanted.exceed(caller.role) { throw .forbiddenCategory }
        guard update.expectedRevision == revision else { throw .staleRevision }
        if access == .free { handOver(to: caller) }
        let switchedOn = Category.allCases.filter { category in
            category != .test && wanted.wants(category)
                && !preferences.wants(category)
        }
        if !switchedOn.isEmpty {
            let number = counter.next()
            for category in switchedOn { since[category] = number }
        }
        preferences = wanted
        if !preferences.enabled { registration = nil }
        revision += 1
    }

    /// Registers a token and a key; a real change takes a new binding.
    package mutating func register(
        _ new: DeviceRegistration,
        expectedRevision: Int64,
        access: Access,
        now: UnixMilliseconds,
        counter: inout BindingCounter
    ) throws(RequestProblem) {
        if access == .ownedElsewhere { throw .ownedElsewhere }
        guard access == .own, preferences.enabled else { throw .notEnabled }
        guard expectedRevision == revision else { throw .staleRevision }
        if let old = registration, old.hasIdentity(of: new) {
            registration?.confirmedAt = new.confirmedAt
            registration?.doubt = nil
        } else {
            registration = new
            binding = counter.next()
            boundAt = now
        }
        revision += 1
    }

    /// The account's role has changed: a category that it may have from now on takes a new number.
    package mutating func roleChanged(
        from old: Role,
        to new: Role,
        counter: inout BindingCounter
    ) {
        let gained = Category.allCases.filter { new.permits($0) && !old.permits($0) }
        guard !gained.isEmpty else { return }
        let number = counter.next()
        for category in gained { since[category] = number }
        revision += 1
    }

    /// Forgets token and key, because the session ended, the token is dead or it moved elsewhere.
    package mutating func forgetRegistration() {
        guard registration != nil else { return }
        registration = nil
        revision += 1
    }

    /// The owner's account is gone: nothing of it stays but the numbers that order things.
    package mutating func ownerDeleted() {
        userID = nil
        registration = nil
        preferences = Preferences()
        since = [:]
        revision += 1
    }

    /// Another account begins with nothing of the one before.
    private mutating func handOver(to caller: Caller) {
        userID = caller.session.userID
        registration = nil
        preferences = Preferences()
        since = [:]
    }
}
