/// The part of a notification that is the same for every recipient: what happened.
package enum NotificationContent: Hashable, Sendable {
    case test
    case alert(AlertContent)
    case security(SecurityContent)
    case taskFailure(TaskRunContent)
    case taskSuccess(TaskRunContent)

    package var category: Category {
        switch self {
        case .test: .test
        case .alert: .alert
        case .security: .security
        case .taskFailure: .taskFailure
        case .taskSuccess: .taskSuccess
        }
    }
}

/// An alert that began or ended.
package struct AlertContent: Codable, Hashable, Sendable {
    package enum Status: String, Codable, Sendable {
        case firing
        case resolved
    }

    /// Names rule, server, source address and start of one cycle.
    package var alertKey: String
    package var status: Status
    package var ruleName: String
    package var serverName: String

    package init(alertKey: String, status: Status, ruleName: String, serverName: String) {
        self.alertKey = alertKey
        self.status = status
        self.ruleName = ruleName
        self.serverName = serverName
    }

    enum CodingKeys: String, CodingKey {
        case alertKey = "alert_key"
        case status
        case ruleName = "rule_name"
        case serverName = "server_name"
    }
}

/// A detection on a server.
package struct SecurityContent: Codable, Hashable, Sendable {
    package var serverID: String
    package var securityEventID: String
    package var securityEventType: String

    package init(serverID: String, securityEventID: String, securityEventType: String) {
        self.serverID = serverID
        self.securityEventID = securityEventID
        self.securityEventType = securityEventType
    }

    enum CodingKeys: String, CodingKey {
        case serverID = "server_id"
        case securityEventID = "security_event_id"
        case securityEventType = "security_event_type"
    }
}

/// The summary of one finished task run.
package struct TaskRunContent: Codable, Hashable, Sendable {
    package var taskID: String
    package var runID: String
    package var total: Int64
    package var failed: Int64
    package var timedOut: Int64
    package var offline: Int64
    package var denied: Int64

    package init(
        taskID: String,
        runID: String,
        total: Int64,
        failed: Int64,
        timedOut: Int64,
        offline: Int64,
        denied: Int64
    ) {
        self.taskID = taskID
        self.runID = runID
        self.total = total
        self.failed = failed
        self.timedOut = timedOut
        self.offline = offline
        self.denied = denied
    }

    enum CodingKeys: String, CodingKey {
        case taskID = "task_id"
        case runID = "run_id"
        case total
        case failed
        case timedOut = "timed_out"
        case offline
        case denied
    }
}

extension NotificationContent: Codable {
    enum CodingKeys: String, CodingKey {
        case kind
        case alert
        case security
        case taskRun = "task_run"
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decode(Category.self, forKey: .kind) {
        case .test: self = .test
        case .alert: self = .alert(try container.decode(AlertContent.self, forKey: .alert))
        case .security:
            self = .security(try container.decode(SecurityContent.self, forKey: .security))
        case .taskFailure:
            self = .taskFailure(try container.decode(TaskRunContent.self, forKey: .taskRun))
        case .taskSuccess:
            self = .taskSuccess(try container.decode(TaskRunContent.self, forKey: .taskRun))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(category, forKey: .kind)
        switch self {
        case .test: break
        case .alert(let alert): try container.encode(alert, forKey: .alert)
        case .security(let security): try container.encode(security, forKey: .security)
        case .taskFailure(let run), .taskSuccess(let run):
            try container.encode(run, forKey: .taskRun)
        }
    }
}
