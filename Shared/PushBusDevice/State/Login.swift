import Contracts

/// One login and all that belongs to it; it goes as a whole.
package struct Login: Codable, Hashable, Sendable {
    package internal(set) var session: Session
    /// What can end the session later, from anywhere; nil until the server gave it.
    package internal(set) var proof: DeletionProof?
    package internal(set) var enrollment: Enrollment
    /// Who is trading the refresh token right now, so that two processes never trade it twice.
    var lease: RefreshLease?

    init(_ session: Session, keyID: KeyID) {
        self.session = session
        enrollment = Enrollment(keyID: keyID)
    }

    var refreshTokenHash: String {
        Hex.encode(DeviceCrypto.sha256(Array(session.tokens.refresh.utf8)))
    }
}

/// The claim of one process to trade the refresh token.
struct RefreshLease: Codable, Hashable, Sendable {
    /// Longer than a request takes.
    static let seconds = Int64(MobileAPI.timeoutSeconds) + 10

    var owner: String
    var since: UnixSeconds

    /// Whether it still counts; a clock that was set back ends it.
    func holds(at now: UnixSeconds) -> Bool {
        now >= since && now < since.adding(seconds: Self.seconds)
    }
}
