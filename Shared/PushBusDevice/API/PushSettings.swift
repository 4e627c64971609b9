/// What an installation is to receive.
package struct PushPreferences: Codable, Hashable, Sendable {
    /// The master switch; off also forgets token and key at the server.
    package var enabled: Bool
    package var alerts: Bool
    package var security: Bool
    package var taskFailure: Bool
    package var taskSuccess: Bool

    package init(
        enabled: Bool = false,
        alerts: Bool = false,
        security: Bool = false,
        taskFailure: Bool = false,
        taskSuccess: Bool = false
    ) {
        self.enabled = enabled
        self.alerts = alerts
        self.security = security
        self.taskFailure = taskFailure
        self.taskSuccess = taskSuccess
    }

    enum CodingKeys: String, CodingKey {
        case enabled
        case alerts
        case security
        case taskFailure = "task_failure"
        case taskSuccess = "task_success"
    }
}

/// What the server has confirmed for this installation.
package struct PushSettings: Codable, Hashable, Sendable {
    /// Grows on every write; the next write names it.
    package var revision: Int64
    package var preferences: PushPreferences
    package var securityAllowed: Bool
    package var tasksAllowed: Bool
    package var taskFailureAvailable: Bool
    package var registered: Bool
    package var deliveryAvailable: Bool
    package var testAvailable: Bool
    /// Why delivery is not available, one word; servers of the reference system do not say.
    package var deliveryUnavailableReason: String?

    enum CodingKeys: String, CodingKey {
        case revision
        case preferences
        case securityAllowed = "security_allowed"
        case tasksAllowed = "tasks_allowed"
        case taskFailureAvailable = "task_failure_available"
        case registered
        case deliveryAvailable = "delivery_available"
        case testAvailable = "test_available"
        case deliveryUnavailableReason = "delivery_unavailable_reason"
    }
}
