import Contracts

/// One login of this installation at one server.
package struct Session: Codable, Hashable, Sendable {
    package var server: String
    package var sessionID: SessionID
    package var userID: UserID
    package var username: String
    package var role: Role
    package var installationID: InstallationID
    package var tokens: SessionTokens

    package init(
        server: String,
        sessionID: SessionID,
        userID: UserID,
        username: String,
        role: Role,
        installationID: InstallationID,
        tokens: SessionTokens
    ) {
        self.server = server
        self.sessionID = sessionID
        self.userID = userID
        self.username = username
        self.role = role
        self.installationID = installationID
        self.tokens = tokens
    }

    enum CodingKeys: String, CodingKey {
        case server
        case sessionID = "session_id"
        case userID = "user_id"
        case username
        case role
        case installationID = "installation_id"
        case tokens
    }

    /// Whom envelopes for this login are sealed for; the server's address names the deployment.
    package var identity: EnvelopeIdentity {
        EnvelopeIdentity(
            deploymentID: DeploymentID(server),
            userID: userID,
            installationID: installationID
        )
    }
}

/// How somebody proves who they are.
package enum SignIn: Sendable {
    case password(username: String, Password)
    /// A code from `pushbus pair` or from another signed-in device; it works once.
    case pairing(code: Password)
}
