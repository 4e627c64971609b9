import Contracts

/// Whom this phone opens envelopes for: deployment, account and installation of the login.
package struct Recipient: Codable, Hashable, Sendable {
    package var deploymentID: DeploymentID
    package var userID: UserID
    package var installationID: InstallationID

    package init(_ identity: EnvelopeIdentity) {
        deploymentID = identity.deploymentID
        userID = identity.userID
        installationID = identity.installationID
    }

    enum CodingKeys: String, CodingKey {
        case deploymentID = "deployment_id"
        case userID = "user_id"
        case installationID = "installation_id"
    }

    package var identity: EnvelopeIdentity {
        EnvelopeIdentity(
            deploymentID: deploymentID,
            userID: userID,
            installationID: installationID
        )
    }
}
