/// What an operator wants to be told about detections of one type.
package struct SecurityRule: Codable, Hashable, Sendable {
    package var id: String
    package var name: String
    package var type: SecurityRuleType
    package var isEnabled: Bool
    package var coverage: Coverage
    /// How long further detections of the same key stay silent, in seconds.
    package var dedupeWindowSeconds: Int64
    /// Failed logins, or different ports, from which on it notifies; nil for 1.
    package var threshold: Int64?
    /// Accounts that are left out, whatever the case of their letters.
    package var excludeUsers: [String]
    /// Addresses and networks (CIDR, IPv4 or IPv6) that are left out.
    package var excludeNetworks: [String]

    package init(
        id: String,
        name: String,
        type: SecurityRuleType,
        isEnabled: Bool = true,
        coverage: Coverage = .all,
        dedupeWindowSeconds: Int64 = 3600,
        threshold: Int64? = nil,
        excludeUsers: [String] = [],
        excludeNetworks: [String] = []
    ) {
        self.id = id
        self.name = name
        self.type = type
        self.isEnabled = isEnabled
        self.coverage = coverage
        self.dedupeWindowSeconds = dedupeWindowSeconds
        self.threshold = threshold
        self.excludeUsers = excludeUsers
        self.excludeNetworks = excludeNetworks
    }

    enum CodingKeys: String, CodingKey {
        case id
        case name
        case type
        case isEnabled = "enabled"
        case coverage
        case dedupeWindowSeconds = "dedupe_window_seconds"
        case threshold
        case excludeUsers = "exclude_users"
        case excludeNetworks = "exclude_cidrs"
    }

    package func checkBounds() throws(ContractViolation) {
        try PolicyBounds.identifier(id, "/id")
        try PolicyBounds.identifier(name, "/name")
        try coverage.check("/coverage")
        try ContractViolation.check(
            (0...604_800).contains(dedupeWindowSeconds),
            "/dedupe_window_seconds",
            "must be 0 to 604800 (a week)"
        )
        try ContractViolation.check(
            (1...1_000_000).contains(threshold ?? 1),
            "/threshold",
            "must be 1 to 1000000"
        )
        try ContractViolation.check(
            excludeUsers.count <= 1000 && excludeNetworks.count <= 1000,
            "/exclude_users",
            "must hold at most 1000 exclusions of each kind"
        )
        try PolicyBounds.identifiers(excludeUsers, "/exclude_users")
        try PolicyBounds.identifiers(excludeNetworks, "/exclude_cidrs")
    }
}

/// The rule types, by the detections they are about.
package enum SecurityRuleType: String, Codable, CaseIterable, Sendable {
    case newAddressLogin = "ssh_new_ip_login"
    case bruteForce = "ssh_brute_force_detected"
    case portScan = "port_scan_detected"
}
