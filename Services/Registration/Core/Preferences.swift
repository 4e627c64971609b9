import Contracts

/// What the owner of an installation wants to be told.
package struct Preferences: Hashable, Sendable {
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

    /// Whether a category is chosen; a test needs no choice of its own.
    package func chooses(_ category: Category) -> Bool {
        switch category {
        case .test: true
        case .alert: alerts
        case .security: security
        case .taskFailure: taskFailure
        case .taskSuccess: taskSuccess
        }
    }

    /// Whether a category is chosen that the role may not have.
    package func exceed(_ role: Role) -> Bool {
        Category.allCases.contains { chooses($0) && !role.permits($0) }
    }

    /// The same without what was chosen in `old` and the role may not have any more.
    package func without(lostBy role: Role, in old: Preferences) -> Preferences {
        func stays(_ category: Category) -> Bool {
            chooses(category) && (role.permits(category) || !old.chooses(category))
        }
        return Preferences(
            enabled: enabled,
            alerts: stays(.alert),
            security: stays(.security),
            taskFailure: stays(.taskFailure),
            taskSuccess: stays(.taskSuccess)
        )
    }

    /// Whether a category is wanted now.
    package func wants(_ category: Category) -> Bool { enabled && chooses(category) }
}

/// `PUT /api/mobile/push/settings`
package struct SettingsUpdate: Hashable, Sendable {
    package let expectedRevision: Int64
    package let preferences: Preferences

    package init(expectedRevision: Int64, preferences: Preferences) {
        self.expectedRevision = expectedRevision
        self.preferences = preferences
    }

    package init(parsing body: [UInt8]) throws(RequestProblem) {
        let fields = try RequestFields(
            parsing: body,
            exactly: ["expected_revision", "preferences"]
        )
        expectedRevision = try fields.revision("expected_revision")
        let chosen = try fields.object(
            "preferences",
            exactly: ["enabled", "alerts", "security", "task_failure", "task_success"]
        )
        preferences = Preferences(
            enabled: try chosen.flag("enabled"),
            alerts: try chosen.flag("alerts"),
            security: try chosen.flag("security"),
            taskFailure: try chosen.flag("task_failure"),
            taskSuccess: try chosen.flag("task_success")
        )
    }
}
