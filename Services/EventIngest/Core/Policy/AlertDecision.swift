import Contracts

/// What the store knows about the cycle of an alert.
package struct CycleFacts: Hashable, Sendable {
    /// Whether a trigger of it was recorded, with whatever verdict.
    package var isKnown: Bool
    /// When the latest of its triggers that was admitted happened; nil when none was.
    package var notifiedAt: UnixMilliseconds?
    /// Whether its recovery was recorded.
    package var isResolved: Bool
    /// Whether a repeat of the candidate's second was recorded.
    package var isRepeatKnown: Bool

    package init(
        isKnown: Bool = false,
        notifiedAt: UnixMilliseconds? = nil,
        isResolved: Bool = false,
        isRepeatKnown: Bool = false
    ) {
        self.isKnown = isKnown
        self.notifiedAt = notifiedAt
        self.isResolved = isResolved
        self.isRepeatKnown = isRepeatKnown
    }
}

/// Why an event is recorded and notifies nobody.
package enum Suppression: Hashable, Sendable {
    case ruleDisabled
    case notCovered
    case muted
    /// Inside the maintenance window of this id.
    case maintenance(String)
    /// A recovery whose cycle never notified.
    case noTrigger
    /// A trigger whose recovery came first.
    case alreadyResolved
    /// A detection that no enabled rule asks for; the text says how near the nearest came.
    case noRule(String)
    /// A detection inside the dedupe window of an earlier one.
    case cooldown
    /// Its integrator may no longer publish it.
    case principalRevoked

    /// The text that is stored and shown, such as `maintenance:night`.
    package var reason: String {
        switch self {
        case .ruleDisabled: "rule_disabled"
        case .notCovered: "not_covered"
        case .muted: "rule_muted"
        case .maintenance(let id): "maintenance:\(id)"
        case .noTrigger: "no_trigger"
        case .alreadyResolved: "already_resolved"
        case .noRule(let why): why
        case .cooldown: "dedupe_window"
        case .principalRevoked: "principal_revoked"
        }
    }
}

/// What the policy says to an alert.
package enum AlertDecision: Hashable, Sendable {
    case admit
    /// Admit it as a further notification of a cycle that has notified before.
    case admitRepeat
    case suppress(Suppression)
    /// Nothing new: the cycle is known and repeats are not asked for, or come too soon.
    case known
    /// Its rule is unknown and such alerts are refused.
    case refuse
}

extension Policy {
    /// Decides about a trigger or recovery that happened at `instant`.
    ///
    /// A window, a disabled rule and a coverage suppress triggers only; the recovery of a cycle
    /// that notified is always admitted. A window whose zone is unknown suppresses nothing.
    package func decide(
        _ alert: AlertHappening,
        at instant: UnixMilliseconds,
        cycle: CycleFacts,
        unknownRules: UnknownRules,
        zones: @escaping ZoneOffset
    ) -> AlertDecision {
        let rule = alertRules[alert.data.ruleID]
        switch alert.status {
        case .resolved:
            if cycle.isResolved { return .known }
            if cycle.notifiedAt != nil { return .admit }
            if rule == nil, unknownRules == .refuse, !cycle.isKnown { return .refuse }
            return .suppress(.noTrigger)
        case .firing:
            if cycle.isKnown {
                guard let distance = rule?.repeatSeconds, !cycle.isResolved, !cycle.isRepeatKnown
                else { return .known }
                if let last = cycle.notifiedAt {
                    let next = last.adding(milliseconds: distance * 1000)
                    guard instant >= next else { return .known }
                }
            } else if cycle.isResolved {
                return .suppress(.alreadyResolved)
            }
            guard let rule else {
                if unknownRules == .refuse { return .refuse }
                return admitOrSuppress(alert, .maintenance, at: instant, cycle, zones)
            }
            if !rule.isEnabled { return .suppress(.ruleDisabled) }
            if !rule.coverage.covers(alert.data.serverID) { return .suppress(.notCovered) }
            return admitOrSuppress(alert, rule.suppression, at: instant, cycle, zones)
        }
    }

    private func admitOrSuppress(
        _ alert: AlertHappening,
        _ suppression: AlertRule.Suppression,
        at instant: UnixMilliseconds,
        _ cycle: CycleFacts,
        _ zones: @escaping ZoneOffset
    ) -> AlertDecision {
        switch suppression {
        case .always: return .suppress(.muted)
        case .never: break
        case .maintenance:
            let state = maintenance(of: alert.data.serverID, at: instant, zones: zones)
            if case .inside(let id) = state { return .suppress(.maintenance(id)) }
        }
        return cycle.isKnown ? .admitRepeat : .admit
    }
}
