import Contracts

/// What a tap on a notification opens, and for which login it may.
package struct TapTarget: Codable, Hashable, Sendable {
    /// A place in the app.
    package enum Destination: Codable, Hashable, Sendable {
        /// Exactly this cycle of this rule on this server, never a newer one.
        case alert(AlertKey)
        /// The server's security feed, at this event.
        case security(serverID: String, eventID: String)
        /// The results of one run.
        case taskRun(taskID: String, runID: String)
        /// The notification settings.
        case settings
    }

    package var destination: Destination
    package var deploymentID: DeploymentID
    package var userID: UserID
    package var installationID: InstallationID

    /// The place that authenticated content names; nil when its alert key cannot be read.
    package init?(of plaintext: EnvelopePlaintext) {
        switch plaintext.content {
        case .test: destination = .settings
        case .alert(let alert):
            guard let key = AlertKey(alert.alertKey) else { return nil }
            destination = .alert(key)
        case .security(let security):
            destination = .security(
                serverID: security.serverID,
                eventID: security.securityEventID
            )
        case .taskFailure(let run), .taskSuccess(let run):
            destination = .taskRun(taskID: run.taskID, runID: run.runID)
        }
        deploymentID = plaintext.identity.deploymentID
        userID = plaintext.identity.userID
        installationID = plaintext.identity.installationID
    }

    /// Where to go for the login that is present; nil when the notification was for another one.
    package func destination(for identity: EnvelopeIdentity) -> Destination? {
        let own = EnvelopeIdentity(
            deploymentID: deploymentID,
            userID: userID,
            installationID: installationID
        )
        return own == identity ? destination : nil
    }
}

extension TapTarget.Destination: CustomStringConvertible {
    /// One line for people, such as `alert cpu on web-1`.
    package var description: String {
        switch self {
        case .alert(let key):
            let dimension = key.sourceAddress.isEmpty ? "" : " from \(key.sourceAddress)"
            return "alert \(key.rule) on \(key.server)\(dimension), cycle of \(key.startedAt)"
        case .security(let serverID, let eventID):
            return "security of \(serverID), event \(eventID)"
        case .taskRun(let taskID, let runID): return "task \(taskID), run \(runID)"
        case .settings: return "notification settings"
        }
    }
}
