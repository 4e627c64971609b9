import Contracts

/// Seconds east of UTC that a local clock of a zone shows at an instant; nil when the zone's data
/// cannot be had. Handed to the pure code by the service.
package typealias ZoneOffset = @Sendable (String, UnixSeconds) -> Int64?

/// Everything operators have decided about events.
package struct Policy: Hashable, Sendable {
    package var alertRules: [String: AlertRule] = [:]
    package var windows: [MaintenanceWindow] = []
    package var securityRules: [SecurityRule] = []
    package var integrators: [String: Integrator] = [:]
    /// The names of integrators that were removed and not added again.
    package var removedIntegrators: Set<String> = []

    package init() {}

    package init(_ items: [PolicyItem]) {
        for item in items {
            if let rule = item.alertRule { alertRules[rule.id] = rule }
            if let window = item.maintenance { windows.append(window) }
            if let rule = item.securityRule { securityRules.append(rule) }
            if let integrator = item.integrator { integrators[integrator.id] = integrator }
        }
    }
}

/// What becomes of alerts whose rule is not part of the policy.
package enum UnknownRules: String, CaseIterable, Sendable {
    case admit
    case refuse
}
