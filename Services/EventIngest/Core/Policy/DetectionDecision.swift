import Contracts

/// What the store knows about the dedupe key of a detection.
package struct DetectionFacts: Hashable, Sendable {
    /// When the latest detection of the key that a rule matched happened.
    package var lastAt: UnixMilliseconds?
    /// Whether an older detection of the key is unresolved, which holds the younger ones.
    package var isHeld: Bool

    package init(lastAt: UnixMilliseconds? = nil, isHeld: Bool = false) {
        self.lastAt = lastAt
        self.isHeld = isHeld
    }
}

/// What the policy says to a detection.
package enum DetectionDecision: Hashable, Sendable {
    /// A rule matches and nothing silences it.
    case admit
    case suppress(Suppression)
    /// Something that decides cannot be had now; it is asked again later.
    case unresolved

    /// Whether the key's silence begins anew: a rule matched, whether or not it notified.
    package var startsSilence: Bool {
        switch self {
        case .admit, .suppress(.cooldown): true
        default: false
        }
    }
}

extension Policy {
    /// Decides about a detection that happened at `instant`.
    ///
    /// Every enabled rule of its type is asked. Where several match, the shortest silence counts,
    /// and there is one notification. A window whose zone is unknown leaves it unresolved: what
    /// cannot be looked up is no permission.
    package func decide(
        _ detection: Detection,
        at instant: UnixMilliseconds,
        facts: DetectionFacts,
        zones: @escaping ZoneOffset
    ) -> DetectionDecision {
        if facts.isHeld { return .unresolved }
        var silences: [Int64] = []
        var misses: [Miss] = []
        for rule in securityRules where rule.type == detection.kind.ruleType {
            if let miss = rule.miss(detection) {
                misses.append(miss)
            } else {
                silences.append(rule.dedupeWindowSeconds)
            }
        }
        guard let silence = silences.min() else {
            return .suppress(.noRule(misses.max()?.reason ?? "no_rule"))
        }
        switch maintenance(of: detection.serverID, at: instant, zones: zones) {
        case .inside(let id): return .suppress(.maintenance(id))
        case .unknown: return .unresolved
        case .clear: break
        }
        if let last = facts.lastAt, instant < last.adding(milliseconds: silence * 1000) {
            return .suppress(.cooldown)
        }
        return .admit
    }
}

/// Why a rule does not match; a greater one came nearer.
private struct Miss: Comparable {
    var nearness: Int
    var reason: String

    static func < (left: Self, right: Self) -> Bool { left.nearness < right.nearness }
}

extension SecurityRule {
    fileprivate func miss(_ detection: Detection) -> Miss? {
        if !isEnabled { return Miss(nearness: 0, reason: "rule_disabled:\(id)") }
        if !coverage.covers(detection.serverID) {
            return Miss(nearness: 1, reason: "not_covered:\(id)")
        }
        if excludeUsers.contains(where: { $0.lowercased() == detection.user.lowercased() }) {
            return Miss(nearness: 2, reason: "excluded_user:\(id)")
        }
        if let address = IPNetwork(detection.sourceAddress) {
            let isExcluded = excludeNetworks.contains {
                IPNetwork($0)?.contains(address) ?? false
            }
            if isExcluded { return Miss(nearness: 3, reason: "excluded_cidr:\(id)") }
        }
        let needed = threshold ?? 1
        if detection.count < needed {
            return Miss(
                nearness: 4,
                reason: "below_threshold:\(id):\(detection.count) of \(needed)"
            )
        }
        return nil
    }
}
