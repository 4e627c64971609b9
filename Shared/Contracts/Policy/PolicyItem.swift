/// One part of the policy that decides about events: exactly one member is there.
package struct PolicyItem: Codable, Hashable, Sendable {
    package var alertRule: AlertRule?
    package var maintenance: MaintenanceWindow?
    package var securityRule: SecurityRule?
    package var integrator: Integrator?

    package init(_ rule: AlertRule) { alertRule = rule }
    package init(_ window: MaintenanceWindow) { maintenance = window }
    package init(_ rule: SecurityRule) { securityRule = rule }
    package init(_ integrator: Integrator) { self.integrator = integrator }

    enum CodingKeys: String, CodingKey {
        case alertRule = "alert_rule"
        case maintenance
        case securityRule = "security_rule"
        case integrator
    }

    /// What names it; nil when there is not exactly one member.
    package var key: PolicyKey? {
        let keys = [
            alertRule.map { PolicyKey(.alertRule, $0.id) },
            maintenance.map { PolicyKey(.maintenance, $0.id) },
            securityRule.map { PolicyKey(.securityRule, $0.id) },
            integrator.map { PolicyKey(.integrator, $0.id) },
        ].compactMap(\.self)
        return keys.count == 1 ? keys[0] : nil
    }

    package func checkBounds() throws(ContractViolation) {
        guard let key else {
            throw ContractViolation("", "must have exactly one member")
        }
        do throws(ContractViolation) {
            try alertRule?.checkBounds()
            try maintenance?.checkBounds()
            try securityRule?.checkBounds()
            try integrator?.checkBounds()
        } catch {
            throw error.under("/\(key.kind.rawValue)")
        }
    }
}

/// The kinds of policy items; ids are unique within a kind.
package enum PolicyKind: String, Codable, CaseIterable, Sendable {
    case alertRule = "alert_rule"
    case maintenance
    case securityRule = "security_rule"
    case integrator
}

/// Names one policy item.
package struct PolicyKey: Codable, Hashable, Sendable {
    package var kind: PolicyKind
    package var id: String

    package init(_ kind: PolicyKind, _ id: String) {
        self.kind = kind
        self.id = id
    }
}
