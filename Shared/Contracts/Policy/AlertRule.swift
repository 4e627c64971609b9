/// What an operator has decided about the alerts of one rule.
package struct AlertRule: Codable, Hashable, Sendable {
    /// The `rule_id` of its events.
    package var id: String
    /// What people read; it takes the place of the name in the event.
    package var name: String
    package var isEnabled: Bool
    package var coverage: Coverage
    /// How far apart triggers of one cycle notify, in seconds; nil when only the first one does.
    package var repeatSeconds: Int64?
    package var suppression: Suppression

    /// When its triggers are recorded without a notification.
    package enum Suppression: String, Codable, CaseIterable, Sendable {
        /// Inside a maintenance window.
        case maintenance
        /// Never: maintenance windows do not count.
        case never
        /// Always: the rule is muted.
        case always
    }

    /// Shortest distance between repeats, in seconds.
    package static let shortestRepeatSeconds: Int64 = 300

    package init(
        id: String,
        name: String,
        isEnabled: Bool = true,
        coverage: Coverage = .all,
        repeatSeconds: Int64? = nil,
        suppression: Suppression = .maintenance
    ) {
        self.id = id
        self.name = name
        self.isEnabled = isEnabled
        self.coverage = coverage
        self.repeatSeconds = repeatSeconds
        self.suppression = suppression
    }

    enum CodingKeys: String, CodingKey {
        case id
        case name
        case isEnabled = "enabled"
        case coverage
        case repeatSeconds = "repeat_seconds"
        case suppression
    }

    package func checkBounds() throws(ContractViolation) {
        try PolicyBounds.identifier(id, "/id")
        try PolicyBounds.identifier(name, "/name")
        try coverage.check("/coverage")
        if let repeatSeconds {
            try ContractViolation.check(
                (Self.shortestRepeatSeconds...604_800).contains(repeatSeconds),
                "/repeat_seconds",
                "must be 300 (five minutes) to 604800 (a week)"
            )
        }
    }
}
