import Contracts

/// Signing in and out.
extension PushDevice {
    /// What is known at the end of a sign-out. The phone has forgotten the login either way.
    package enum SignOut: Hashable, Sendable {
        /// The server has ended the session.
        case ended
        /// The server was not reached, or did not answer clearly; it is tried again later.
        case pending
    }

    /// Signs in. Whatever earlier logins left behind is cleaned up first, where that is possible; a
    /// login that is there must be ended, and one that is lost recovered.
    ///
    /// Nothing about notifications happens here but reading what the server has.
    package func signIn(
        _ method: SignIn,
        at address: ServerAddress,
        deviceName: String
    ) async throws(DeviceError) {
        let before = try state
        if before.login == nil { await perform(try take(.reconcile(.beforeSignIn))) }
        let state = try state
        try state.checkSignIn()
        let api = MobileAPI(address: address, transport: environment.transport)
        let session = try await api.signIn(
            method,
            installation: installationID,
            deviceName: deviceName,
            now: now
        )
        let work: Work
        do throws(DeviceError) {
            work = try begin(session, after: state.generation)
        } catch {
            // Nobody will use this session: end it while its token is at hand. Where it cannot be told
            // whether the login was stored all the same, it stays.
            if let stored = try? self.state, stored.login?.session.sessionID != session.sessionID {
                try? await api.logout(session.tokens.access)
            }
            throw error
        }
        await perform(work)
    }

    private func begin(_ session: Session, after generation: Int64) throws(DeviceError) -> Work {
        guard let entry = ContentKeyring.Entry.make(random: environment.random) else {
            throw .storage("there are no random bytes for a content key")
        }
        let now = now
        return try transact { state throws(DeviceError) in
            guard state.generation == generation else { throw .superseded }
            let effects = try state.handle(.signedIn(session, entry.id), at: now)
            // The state goes last: without it nothing else is used.
            let store = self.environment.store
            try store.store(
                ContentKeyring(sessionID: session.sessionID, current: entry),
                .keys
            )
            try store.store(Recipient(session.identity), .recipient)
            return Work(effects: effects, generation: state.generation)
        }
    }

    /// Ends the login on this phone, with or without a network: what can end it at the server is kept
    /// in its place until the server has confirmed.
    ///
    /// Fails and changes nothing without a deletion proof, with a full list or with storage that
    /// does not take it.
    package func signOut() async throws(DeviceError) -> SignOut {
        let state = try state
        let login = try state.ordinaryLogin
        if login.proof == nil {
            let failure = await perform(Work(effects: [.fetchProof], generation: state.generation))
            if try self.state.login?.proof == nil, let failure, failure.code == .storage {
                throw failure
            }
        }
        let session = login.session.sessionID
        let work: Work
        do throws(DeviceError) {
            work = try take(.signOut)
        } catch {
            // The server may have ended the login in answer to the question for a proof.
            guard error.code == .signedOut else { throw error }
            return try isPending(session) ? .pending : .ended
        }
        let failure = await perform(work)
        if let failure, failure.code == .storage { throw failure }
        return try isPending(session) ? .pending : .ended
    }

    private func isPending(_ session: SessionID) throws(DeviceError) -> Bool {
        try state.cleanup.contains { $0.sessionID == session }
    }

    // MARK: Recovery

    /// A recovery that an account was shown for; it lasts five minutes at the server.
    package struct Recovery: Sendable {
        package let session: RecoverableSession
        /// Sessions of the account on this installation; none is chosen.
        package let sessions: [SignedInDevice]
        let authorization: MobileAPI.Recovery
    }

    /// Shows the account of the session that is to be recovered again, by password or by a fresh
    /// pairing code, and lists its sessions. Signs nobody in.
    ///
    /// Nil when the session turned out to be over.
    package func openRecovery(_ method: SignIn) async throws(DeviceError) -> Recovery? {
        guard let session = try state.recoverable else {
            throw DeviceError(.refused, "there is no session to recover")
        }
        let api = MobileAPI(
            address: try ServerAddress(session.server),
            transport: environment.transport
        )
        let authorization = try await api.openRecovery(
            method,
            installation: session.installationID
        )
        guard
            authorization.userID == session.userID,
            authorization.installationID == session.installationID
        else {
            throw DeviceError(
                .otherAccount,
                "the session belongs to another account: show that one"
            )
        }
        let sessions = try await api.sessions(authorization)
        await perform(try take(.listed(session.sessionID, sessions.map(\.sessionID))))
        guard try state.recoverable?.sessionID == session.sessionID else { return nil }
        return Recovery(session: session, sessions: sessions, authorization: authorization)
    }

    /// Ends the session that somebody chose from the list. The choice is saved first, and the record
    /// stays unless the server confirms.
    package func end(
        _ chosen: SessionID,
        in recovery: Recovery
    ) async throws(DeviceError) {
        guard recovery.sessions.contains(where: { $0.sessionID == chosen }) else {
            throw DeviceError(.refused, "this session is not in the list")
        }
        _ = try take(.selected(chosen))
        let api = MobileAPI(
            address: try ServerAddress(recovery.session.server),
            transport: environment.transport
        )
        try await api.end(chosen, recovery.authorization)
        await perform(try take(.recovered(chosen)))
    }

    /// Ends a lost session by what the phone still holds of it, the hash of its last refresh token;
    /// needs no account.
    package func endLostSession() async throws(DeviceError) {
        let state = try state
        guard let lost = state.lost else {
            throw DeviceError(.refused, "there is no lost session")
        }
        let work = Work(effects: [.end(SessionEnd(lost))], generation: state.generation)
        if let failure = await perform(work) { throw failure }
    }
}
