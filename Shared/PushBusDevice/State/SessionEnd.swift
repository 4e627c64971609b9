import Contracts

/// A session that is over on this phone and is still to be ended at its server.
package struct SessionEnd: Codable, Hashable, Sendable {
    /// What ends it; none of it is of use for anything else.
    package enum Evidence: Hashable, Sendable {
        case proof(DeletionProof)
        /// Lowercase hex SHA-256 of the session's last refresh token.
        case refreshTokenHash(String)
    }

    package let server: String
    package let sessionID: SessionID
    package let userID: UserID
    package let installationID: InstallationID
    let proof: DeletionProof?
    let refreshTokenHash: String
    /// The server refused all evidence: only recovery can end it.
    package internal(set) var isRefused = false

    init(_ login: Login) {
        server = login.session.server
        sessionID = login.session.sessionID
        userID = login.session.userID
        installationID = login.session.installationID
        proof = login.proof
        refreshTokenHash = login.refreshTokenHash
    }

    enum CodingKeys: String, CodingKey {
        case server
        case sessionID = "session_id"
        case userID = "user_id"
        case installationID = "installation_id"
        case proof
        case refreshTokenHash = "refresh_token_hash"
        case isRefused = "is_refused"
    }

    /// In the order in which it is tried.
    package var evidence: [Evidence] {
        (proof.map { [.proof($0)] } ?? []) + [.refreshTokenHash(refreshTokenHash)]
    }
}
