import Contracts

/// A raw detection on a server; only an enabled rule makes a notification of it.
package struct Detection: Hashable, Codable, Sendable {
    /// What was detected; rule types have names of their own.
    package enum Kind: String, Codable, CaseIterable, Sendable {
        case newAddressLogin = "ssh_new_ip_login"
        case bruteForce = "ssh_brute_force"
        case portScan = "port_scan"

        package var ruleType: SecurityRuleType {
            switch self {
            case .newAddressLogin: .newAddressLogin
            case .bruteForce: .bruteForce
            case .portScan: .portScan
            }
        }
    }

    package var kind: Kind
    package var id: String
    package var serverID: String
    /// Where it came from.
    package var sourceAddress: String
    /// The account, where there is one.
    package var user: String
    /// Failed logins or different ports; 1 for a login.
    package var count: Int64

    init(_ reader: DataReader) throws(ContractViolation) {
        let name = try reader.identifier("security_event_type")
        guard let kind = Kind(rawValue: name) else {
            let known = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw ContractViolation("/data/security_event_type", "must be one of \(known)")
        }
        self.kind = kind
        id = try reader.identifier("security_event_id")
        serverID = try reader.identifier("server_id")
        sourceAddress = try reader.identifier("source_address")
        try ContractViolation.check(
            IPNetwork(sourceAddress) != nil && !sourceAddress.contains("/"),
            "/data/source_address",
            "must be an IPv4 or IPv6 address"
        )
        user = try reader.optionalIdentifier("user") ?? ""
        switch kind {
        case .newAddressLogin: count = 1
        case .bruteForce: count = try reader.count("failed_count")
        case .portScan: count = try reader.count("distinct_ports")
        }
    }

    /// What detections share that stay silent after one another: kind, server, address (however
    /// it is spelled), and the account of a login.
    package func dedupeKey() throws(ContractViolation) -> [UInt8] {
        let address = IPNetwork(sourceAddress)?.addressText ?? sourceAddress
        var parts = [kind.rawValue, serverID, address]
        if kind == .newAddressLogin { parts.append(user.lowercased()) }
        return try CloudEventAttributes.canonicalBytes(of: .array(parts.map(JSONValue.string)))
    }

    package var content: SecurityContent {
        SecurityContent(
            serverID: serverID,
            securityEventID: id,
            securityEventType: kind.rawValue
        )
    }
}
