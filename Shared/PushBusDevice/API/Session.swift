import Contracts

/// One login of this installation at one server.
package struct Session: Codable, Hashable, Sendable {
    package var server: String
    package var sessionID: SessionID
    package var userID: UserID
    /// The server's own name for itself, which envelopes are sealed for.
    package var deploymentID: DeploymentID
    package var role: Role
    package var installationID: InstallationID
    package var tokens: SessionTokens
    /// When the server ends the session, by the server's clock; it never moves.
    package var endsAt: UnixSeconds?

    package init(
        server: String,
        sessionID: SessionID,
        userID: UserID,
        deploymentID: DeploymentID,
        role: Role,
        installationID: InstallationID,
        tokens: SessionTokens,
        endsAt: UnixSeconds? = nil
    ) {
        self.server = server
        self.sessionID = sessionID
        self.userID = userID
        self.deploymentID = deploymentID
        self.role = role
        self.installationID = installationID
        self.tokens = tokens
        self.endsAt = endsAt
    }

    enum CodingKeys: String, CodingKey {
        case server
        case sessionID = "session_id"
        case userID = "user_id"
        case deploymentID = "deployment_id"
        case role
        case installationID = "installation_id"
        case tokens
        case endsAt = "ends_at"
    }

    /// Whom envelopes for this login are sealed for.
    package var identity: EnvelopeIdentity {
        EnvelopeIdentity(
            deploymentID: deploymentID,
            userID: userID,
            installationID: installationID
        )
    }
}

/// How somebody proves who they are.
package enum SignIn: Sendable {
    case password(username: String, Password, oneTimeCode: Password? = nil)
    /// A code from `pushbus pair` or from another signed-in device; it works once.
    case pairing(code: Password)
}
