/// CloudEvents 1.0 as a producer writes it (structured JSON); EventIngest reads the loose form.
package struct CloudEvent<Payload: Codable & Sendable>: Codable, Sendable {
    package var specversion = "1.0"
    package var id: String
    package var source: String
    package var type: String
    /// RFC 3339.
    package var time: String?
    /// RFC 3339; the CloudEvents `expirytime` extension.
    package var expirytime: String?
    package var traceparent: String?
    package var data: Payload

    package init(
        id: String,
        source: String,
        type: String,
        time: String? = nil,
        expirytime: String? = nil,
        traceparent: String? = nil,
        data: Payload
    ) {
        self.id = id
        self.source = source
        self.type = type
        self.time = time
        self.expirytime = expirytime
        self.traceparent = traceparent
        self.data = data
    }
}

/// The event types that EventIngest admits.
package enum EventType: String, Codable, CaseIterable, Sendable {
    case alertTriggered = "org.pushbus.alert.triggered.v1"
    case alertResolved = "org.pushbus.alert.resolved.v1"
    case securityDetected = "org.pushbus.security.detected.v1"
    case taskRunStarted = "org.pushbus.task.run.started.v1"
    case taskAttemptFinished = "org.pushbus.task.attempt.finished.v1"
    case taskRunInterrupted = "org.pushbus.task.run.interrupted.v1"
    case taskRunCancelled = "org.pushbus.task.run.cancelled.v1"
    case testRequested = "org.pushbus.test.requested.v1"
}

/// `data` of an alert that was triggered or resolved.
///
/// Rule, server, source address and start name one alert cycle; trigger and recovery of a cycle
/// carry the same four.
package struct AlertEventData: Codable, Hashable, Sendable {
    package var ruleID: String
    package var ruleName: String
    package var serverID: String
    package var serverName: String
    /// The dimension of the alert, empty when the rule has none.
    package var sourceAddress: String
    /// When the cycle began, RFC 3339; part of the alert's identity and taken as text.
    package var startedAt: String

    package init(
        ruleID: String,
        ruleName: String,
        serverID: String,
        serverName: String,
        sourceAddress: String = "",
        startedAt: String
    ) {
        self.ruleID = ruleID
        self.ruleName = ruleName
        self.serverID = serverID
        self.serverName = serverName
        self.sourceAddress = sourceAddress
        self.startedAt = startedAt
    }

    enum CodingKeys: String, CodingKey {
        case ruleID = "rule_id"
        case ruleName = "rule_name"
        case serverID = "server_id"
        case serverName = "server_name"
        case sourceAddress = "source_address"
        case startedAt = "started_at"
    }
}

/// `data` of a targeted test: the event's id is the phone's own UUID.
package struct TestEventData: Codable, Hashable, Sendable {
    package var eventID: EventID
    package var installationID: InstallationID

    package init(eventID: EventID, installationID: InstallationID) {
        self.eventID = eventID
        self.installationID = installationID
    }

    enum CodingKeys: String, CodingKey {
        case eventID = "event_id"
        case installationID = "installation_id"
    }
}
