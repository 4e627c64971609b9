import Contracts

extension PolicyItem {
    /// Checks what needs more than the item itself: networks, and zones known here.
    package func check(
        now: UnixSeconds,
        zones: @escaping ZoneOffset
    ) throws(ContractViolation) {
        for (index, network) in (securityRule?.excludeNetworks ?? []).enumerated() {
            try ContractViolation.check(
                IPNetwork(network) != nil,
                "/security_rule/exclude_cidrs/\(index)",
                "must be an IPv4 or IPv6 address or network, such as 10.0.0.0/8"
            )
        }
        if let weekly = maintenance?.weekly {
            try ContractViolation.check(
                zones(weekly.zone, now) != nil,
                "/maintenance/weekly/zone",
                "is no zone of this system's time zone data; name one such as Europe/Berlin, or"
                    + " install the tzdata package"
            )
        }
    }
}
