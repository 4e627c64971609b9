import Contracts

/// What an admitted event becomes: one logical notification, before anybody knows for whom.
package struct Notification: Hashable, Sendable {
    package var eventID: EventID
    package var content: NotificationContent
    package var audience: Audience
    /// The notification that must be fanned out or expired before this one is handed out.
    package var after: EventID?
    /// Whether it opens a cycle that stays known until the notification that names it in `after`
    /// has come, however long that takes.
    package var opensCycle = false

    /// The first notification of the alert cycle that it is a trigger of.
    package var cycle: EventID?
    /// What detections share that stay silent after one another.
    package var dedupeKey: [UInt8]?

    package var category: Category { content.category }

    /// Lets people read the name that the policy gives an alert's rule.
    mutating func takeNames(from policy: Policy, _ happening: Happening) {
        guard case .alert(let alert) = happening, case .alert(var content) = content,
            let rule = policy.alertRules[alert.data.ruleID]
        else { return }
        content.ruleName = rule.name
        self.content = .alert(content)
    }
}

extension Notification {
    /// The notification a happening asks for.
    package init(
        _ happening: Happening,
        source: String,
        identity: EventIdentity
    ) throws(ContractViolation) {
        switch happening {
        case .alert(let alert):
            eventID = try identity.eventID(alertKey: alert.key, status: alert.status)
            content = .alert(
                AlertContent(
                    alertKey: alert.key,
                    status: alert.status,
                    ruleName: alert.data.ruleName,
                    serverName: alert.data.serverName
                )
            )
            audience = .everyone
            switch alert.status {
            case .firing:
                opensCycle = true
                cycle = eventID
            case .resolved: after = try identity.eventID(alertKey: alert.key, status: .firing)
            }
        case .security(let detection):
            eventID = try identity.eventID(detection)
            content = .security(detection.content)
            audience = .everyone
            dedupeKey = try detection.dedupeKey()
        case .task(let fact):
            eventID = try identity.eventID(fact, source: source)
            // The counts and the owner are known once the run has ended.
            content = .taskFailure(
                TaskRunContent(
                    taskID: fact.taskID,
                    runID: fact.runID,
                    total: 0,
                    failed: 0,
                    timedOut: 0,
                    offline: 0,
                    denied: 0
                )
            )
            audience = .everyone
        case .test(let test):
            eventID = test.eventID
            content = .test
            audience = Audience(installationID: test.installationID)
        }
    }
}
