import Contracts

/// The app's side: one login at one server, its registration and its content keys.
///
/// Every change is stored before it counts, and a reply that comes after a sign-out or for another
/// login is thrown away. At most one refresh is under way at a time.
package actor PushDevice {
    /// What the app lends: everything of the platform comes through here.
    package struct Environment: Sendable {
        package var transport: any HTTPTransport
        package var store: any DeviceStore
        package var now: @Sendable () -> UnixMilliseconds
        /// That many unpredictable bytes.
        package var random: @Sendable (Int) -> [UInt8]

        package init(
            transport: any HTTPTransport,
            store: any DeviceStore,
            now: @escaping @Sendable () -> UnixMilliseconds,
            random: @escaping @Sendable (Int) -> [UInt8]
        ) {
            self.transport = transport
            self.store = store
            self.now = now
            self.random = random
        }
    }

    /// Seconds before its end at which an access token is refreshed.
    package static let refreshMarginSeconds: Int64 = 60
    /// How often a write is repeated with a fresh revision when others write at the same time.
    package static let staleRetries = 4

    package nonisolated let installationID: InstallationID
    private let environment: Environment
    private var session: Session?
    /// Grows with every sign-in and sign-out; what began under another one is discarded.
    private var generation: UInt64 = 0
    private var isRefreshing = false
    private var refreshWaiters: [CheckedContinuation<Void, Never>] = []

    /// Takes up a stored login, if there is one of this installation.
    package init(
        installationID: InstallationID,
        environment: Environment
    ) throws(DeviceError) {
        self.installationID = installationID
        self.environment = environment
        let stored: Session? = try environment.store.value(.session)
        session = stored?.installationID == installationID ? stored : nil
    }

    /// The account that is signed in; nil when nobody is.
    package var account: (userID: UserID, role: Role, server: String)? {
        session.map { ($0.userID, $0.role, $0.server) }
    }

    // MARK: Sign in and out

    /// Signs in; a login that is there must be ended first.
    package func signIn(
        _ method: SignIn,
        at address: ServerAddress,
        deviceName: String
    ) async throws(DeviceError) {
        guard session == nil else {
            throw DeviceError(.refused, "somebody is signed in already: sign out first")
        }
        generation += 1
        let mine = generation
        let api = MobileAPI(address: address, transport: environment.transport)
        let new = try await api.signIn(
            method,
            installation: installationID,
            deviceName: deviceName,
            now: environment.now().second
        )
        guard mine == generation else { throw Self.superseded }
        guard let entry = ContentKeyring.Entry.make(random: environment.random) else {
            throw DeviceError(.storage, "no random bytes for a content key: try again")
        }
        // The session goes last: without it nothing else is used.
        try environment.store.store(
            ContentKeyring(sessionID: new.sessionID, current: entry),
            .keys
        )
        try environment.store.store(Recipient(new.identity), .recipient)
        try environment.store.store(new, .session)
        session = new
    }

    /// Ends the login at the server, then on the phone. When the server cannot be reached the
    /// login stays, so that it can be ended later; a login that the server no longer knows is over.
    package func signOut() async throws(DeviceError) {
        do throws(DeviceError) {
            try await authorized { api, access throws(DeviceError) in try await api.logout(access) }
        } catch {
            guard error.code == .unauthorized || error.code == .signedOut else { throw error }
        }
        try forget()
    }

    private func forget() throws(DeviceError) {
        generation += 1
        session = nil
        try environment.store.remove(.session)
        try environment.store.remove(.keys)
        try environment.store.remove(.recipient)
    }

    // MARK: Settings and registration

    /// What the server has confirmed.
    package func settings() async throws(DeviceError) -> PushSettings {
        try await authorized { api, access throws(DeviceError) in try await api.settings(access) }
    }

    /// Writes preferences over the revision the app has seen.
    package func save(
        _ preferences: PushPreferences,
        expectedRevision: Int64
    ) async throws(DeviceError) -> PushSettings {
        try await authorized { api, access throws(DeviceError) in
            try await api.save(preferences, expectedRevision: expectedRevision, access)
        }
    }

    /// Changes preferences from whatever they are now.
    package func change(
        _ body: @Sendable (inout PushPreferences) -> Void
    ) async throws(DeviceError) -> PushSettings {
        try await onFreshRevision { device, settings throws(DeviceError) in
            var preferences = settings.preferences
            body(&preferences)
            return try await device.save(preferences, expectedRevision: settings.revision)
        }
    }

    /// Registers the token with the content key; `newKey` makes a new one, and the one it replaces
    /// opens envelopes for thirty more minutes.
    package func register(
        token: DeviceToken,
        apns: APNsEnvironment,
        newKey: Bool = false
    ) async throws(DeviceError) {
        guard let session else { throw .signedOut }
        let mine = generation
        var keyring = try keyring(of: session)
        if newKey {
            guard let entry = ContentKeyring.Entry.make(random: environment.random) else {
                throw DeviceError(.storage, "no random bytes for a content key: try again")
            }
            keyring.stage(entry)
            try environment.store.store(keyring, .keys)
        }
        let entry = keyring.toRegister
        let deployment = session.identity.deploymentID
        _ = try await onFreshRevision { device, settings throws(DeviceError) in
            try await device.authorized { api, access throws(DeviceError) in
                try await api.register(
                    PushRegistration(
                        expectedRevision: settings.revision,
                        deviceToken: token,
                        environment: apns,
                        contentKeyID: entry.id,
                        contentKey: entry.key,
                        deploymentID: deployment
                    ),
                    access
                )
            }
        }
        guard mine == generation else { throw Self.superseded }
        keyring = try self.keyring(of: session)
        keyring.confirm(entry, at: environment.now().second)
        try environment.store.store(keyring, .keys)
    }

    private func keyring(of session: Session) throws(DeviceError) -> ContentKeyring {
        let stored: ContentKeyring? = try environment.store.value(.keys)
        guard let stored, stored.sessionID == session.sessionID else {
            throw .storage("the content key of this login is missing: sign out and in again")
        }
        return stored
    }

    // MARK: Test notification

    /// Asks for a test notification under an identifier of its own; asking again with the same
    /// identifier and revision changes nothing.
    package func requestTest(
        _ eventID: EventID,
        expectedRevision: Int64
    ) async throws(DeviceError) -> PushTestOutcome {
        try await authorized { api, access throws(DeviceError) in
            try await api.requestTest(eventID, expectedRevision: expectedRevision, access)
        }
    }

    /// What became of it.
    package func testOutcome(_ eventID: EventID) async throws(DeviceError) -> PushTestOutcome {
        try await authorized { api, access throws(DeviceError) in
            try await api.testOutcome(eventID, access)
        }
    }

    // MARK: Authorised calls

    private static let superseded = DeviceError(
        .superseded,
        "the login changed meanwhile: nothing of the reply was kept"
    )

    /// Runs a call with an access token that is good for a while; refreshes once when the server
    /// refuses it all the same.
    private func authorized<Answer: Sendable>(
        _ body: (MobileAPI, String) async throws(DeviceError) -> Answer
    ) async throws(DeviceError) -> Answer {
        guard session != nil else { throw .signedOut }
        let mine = generation
        let soon = environment.now().second.adding(seconds: Self.refreshMarginSeconds)
        if let session, session.tokens.accessExpiresAt <= soon {
            try await refresh(replacing: session.tokens.access)
        }
        guard mine == generation, let session else { throw Self.superseded }
        let api = MobileAPI(
            address: try ServerAddress(session.server),
            transport: environment.transport
        )
        let answer: Answer
        do throws(DeviceError) {
            answer = try await body(api, session.tokens.access)
        } catch {
            guard error.code == .unauthorized, mine == generation else { throw error }
            try await refresh(replacing: session.tokens.access)
            guard mine == generation, let session = self.session else { throw Self.superseded }
            answer = try await body(api, session.tokens.access)
        }
        guard mine == generation else { throw Self.superseded }
        return answer
    }

    /// Trades the refresh token, unless somebody else has done so since `access` was read.
    ///
    /// A refresh token that the server refuses ends the login on the phone as well.
    private func refresh(replacing access: String) async throws(DeviceError) {
        while isRefreshing {
            await withCheckedContinuation { refreshWaiters.append($0) }
        }
        guard let session, session.tokens.access == access else { return }
        isRefreshing = true
        defer {
            isRefreshing = false
            let waiters = refreshWaiters
            refreshWaiters = []
            for waiter in waiters { waiter.resume() }
        }
        let mine = generation
        // Another process of the app may have refreshed, or ended the login, since we read it.
        let stored: Session? = try environment.store.value(.session)
        guard let stored, stored.sessionID == session.sessionID else {
            generation += 1
            self.session = nil
            throw .signedOut
        }
        if stored.tokens != session.tokens {
            self.session = stored
            return
        }
        let api = MobileAPI(
            address: try ServerAddress(session.server),
            transport: environment.transport
        )
        do throws(DeviceError) {
            let next = try await api.refresh(session, now: environment.now().second)
            guard mine == generation else { throw Self.superseded }
            try environment.store.store(next, .session)
            self.session = next
        } catch {
            if error.code == .unauthorized, mine == generation { try forget() }
            throw error
        }
    }

    /// Reads the settings and writes over their revision, again while others are faster.
    private func onFreshRevision(
        _ write: (isolated PushDevice, PushSettings) async throws(DeviceError) -> PushSettings
    ) async throws(DeviceError) -> PushSettings {
        var attempt = 0
        while true {
            let settings = try await settings()
            do throws(DeviceError) {
                return try await write(self, settings)
            } catch {
                attempt += 1
                guard error.code == .staleRevision, attempt < Self.staleRetries else { throw error }
            }
        }
    }
}
