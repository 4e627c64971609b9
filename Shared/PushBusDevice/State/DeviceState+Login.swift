import Contracts

/// How logins begin and end.
extension DeviceState {
    /// Whether a login may begin: one deployment and account at a time, and never while one before
    /// could not be left behind in order.
    package func checkSignIn() throws(DeviceError) {
        if lost != nil { throw .recoverSession }
        if login != nil {
            throw DeviceError(
                .alreadySignedIn,
                "somebody is signed in already: sign out first"
            )
        }
        if cleanup.count >= Self.cleanupLimit { throw .cleanupFull }
    }

    mutating func begin(
        _ session: Session,
        _ keyID: KeyID
    ) throws(DeviceError) -> [DeviceEffect] {
        try checkSignIn()
        generation += 1
        login = Login(session, keyID: keyID)
        wasEnded = false
        // Notifications are the person's to ask for: nothing of them begins here.
        return [.keepKeys(of: session.sessionID), .fetchProof, .readSettings]
    }

    /// Ends the login on the phone, with or without a network: the proof takes its place.
    mutating func signOut() throws(DeviceError) -> [DeviceEffect] {
        let login = try ordinaryLogin
        guard login.proof != nil else { throw .proofMissing }
        guard cleanup.count < Self.cleanupLimit else { throw .cleanupFull }
        return leave(login)
    }

    private mutating func leave(_ login: Login) -> [DeviceEffect] {
        cleanup.append(SessionEnd(login))
        self.login = nil
        generation += 1
        return [.keepKeys(of: nil)] + pendingEnds
    }

    /// The server refuses the refresh token for good.
    mutating func reject() -> [DeviceEffect] {
        guard let login else { return [] }
        if login.proof != nil, cleanup.count < Self.cleanupLimit {
            wasEnded = true
            return leave(login)
        }
        lost = login
        self.login = nil
        generation += 1
        return []
    }

    /// What can be ended without asking anybody.
    var pendingEnds: [DeviceEffect] {
        let lostWithProof = lost.flatMap { $0.proof == nil ? nil : SessionEnd($0) }
        return (cleanup.filter { !$0.isRefused } + [lostWithProof].compactMap(\.self))
            .map { .end($0) }
    }

    mutating func ended(
        _ session: SessionID,
        _ result: Result<Void, DeviceError>
    ) -> [DeviceEffect] {
        switch result {
        case .success: return forget(session)
        case .failure(let error):
            // Any other failure says nothing about the session: the record stays as it is.
            guard error.code == .unauthorized, error.serverCode != nil else { return [] }
            for index in cleanup.indices where cleanup[index].sessionID == session {
                cleanup[index].isRefused = true
            }
            return []
        }
    }

    /// The session is known to be over at its server.
    private mutating func forget(_ session: SessionID) -> [DeviceEffect] {
        cleanup.removeAll { $0.sessionID == session }
        if selected == session { selected = nil }
        guard lost?.session.sessionID == session else { return [] }
        lost = nil
        selected = nil
        wasEnded = true
        generation += 1
        return [.keepKeys(of: nil)]
    }

    // MARK: Recovery

    /// The session to recover, whose account has to be shown again.
    package var recoverable: RecoverableSession? {
        if let lost { return RecoverableSession(lost.session) }
        return cleanup.first { $0.isRefused }.map(RecoverableSession.init)
    }

    mutating func select(_ session: SessionID) throws(DeviceError) -> [DeviceEffect] {
        guard recoverable != nil else {
            throw DeviceError(.refused, "there is no session to recover")
        }
        // Ending the login that is in use is signing out, not recovery.
        guard session != login?.session.sessionID else {
            throw DeviceError(.refused, "this session is in use: sign out instead")
        }
        selected = session
        return []
    }

    /// A session that its own account does not have any more on this installation is over.
    mutating func listed(_ session: SessionID, _ present: [SessionID]) -> [DeviceEffect] {
        if let selected, !present.contains(selected) { self.selected = nil }
        guard recoverable?.sessionID == session, !present.contains(session) else { return [] }
        return forget(session)
    }

    mutating func recovered(_ session: SessionID) -> [DeviceEffect] {
        guard selected == session else { return [] }
        selected = nil
        return forget(session)
    }
}

/// A session that only its account, shown anew, can end.
package struct RecoverableSession: Hashable, Sendable {
    package let server: String
    package let sessionID: SessionID
    package let userID: UserID
    package let installationID: InstallationID

    init(_ session: Session) {
        server = session.server
        sessionID = session.sessionID
        userID = session.userID
        installationID = session.installationID
    }

    init(_ end: SessionEnd) {
        server = end.server
        sessionID = end.sessionID
        userID = end.userID
        installationID = end.installationID
    }
}
