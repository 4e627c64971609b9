/// What somebody wants changed; the rest stays as it is, whoever changed it meanwhile.
package struct PreferenceChanges: Codable, Hashable, Sendable {
    package var enabled: Bool?
    package var alerts: Bool?
    package var security: Bool?
    package var taskFailure: Bool?
    package var taskSuccess: Bool?

    package init(
        enabled: Bool? = nil,
        alerts: Bool? = nil,
        security: Bool? = nil,
        taskFailure: Bool? = nil,
        taskSuccess: Bool? = nil
    ) {
        self.enabled = enabled
        self.alerts = alerts
        self.security = security
        self.taskFailure = taskFailure
        self.taskSuccess = taskSuccess
    }

    /// Exactly these preferences.
    package init(_ preferences: PushPreferences) {
        self.init(
            enabled: preferences.enabled,
            alerts: preferences.alerts,
            security: preferences.security,
            taskFailure: preferences.taskFailure,
            taskSuccess: preferences.taskSuccess
        )
    }

    enum CodingKeys: String, CodingKey {
        case enabled
        case alerts
        case security
        case taskFailure = "task_failure"
        case taskSuccess = "task_success"
    }

    /// The preferences with the changes made.
    package func applied(to preferences: PushPreferences) -> PushPreferences {
        PushPreferences(
            enabled: enabled ?? preferences.enabled,
            alerts: alerts ?? preferences.alerts,
            security: security ?? preferences.security,
            taskFailure: taskFailure ?? preferences.taskFailure,
            taskSuccess: taskSuccess ?? preferences.taskSuccess
        )
    }

    /// These changes, and over them later ones.
    package func merged(with later: Self) -> Self {
        Self(
            enabled: later.enabled ?? enabled,
            alerts: later.alerts ?? alerts,
            security: later.security ?? security,
            taskFailure: later.taskFailure ?? taskFailure,
            taskSuccess: later.taskSuccess ?? taskSuccess
        )
    }

    /// Whether anything of it leads to more notifications than before.
    var switchesOn: Bool {
        [enabled, alerts, security, taskFailure, taskSuccess].contains(true)
    }
}
