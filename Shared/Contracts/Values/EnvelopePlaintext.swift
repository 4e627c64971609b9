/// Everything that is sealed for one installation, before it is written as bytes.
package struct EnvelopePlaintext: Hashable, Sendable {
    package var identity: EnvelopeIdentity
    package var eventID: EventID
    package var createdAt: UnixSeconds
    package var expiresAt: UnixSeconds
    package var content: NotificationContent

    package init(
        identity: EnvelopeIdentity,
        eventID: EventID,
        createdAt: UnixSeconds,
        expiresAt: UnixSeconds,
        content: NotificationContent
    ) {
        self.identity = identity
        self.eventID = eventID
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.content = content
    }
}

/// Whom an envelope is for; its hash is the envelope's `identity`.
package struct EnvelopeIdentity: Hashable, Sendable {
    package var deploymentID: DeploymentID
    package var userID: UserID
    package var installationID: InstallationID

    package init(deploymentID: DeploymentID, userID: UserID, installationID: InstallationID) {
        self.deploymentID = deploymentID
        self.userID = userID
        self.installationID = installationID
    }

    /// What the envelope's `identity` is the SHA-256 of: the compact JSON array of the three strings,
    /// with `/` written as it is.
    package var hashedText: [UInt8] {
        var json = CompactJSON(reservingBytes: 128)
        json.array {
            $0.value(deploymentID.text)
            $0.value(userID.text)
            $0.value(installationID.text)
        }
        return json.bytes
    }
}
