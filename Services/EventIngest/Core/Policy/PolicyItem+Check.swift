import Contracts

extension PolicyItem {
    /// Checks what needs more than the item itself: that its zone is known here.
    package func check(
        now: UnixSeconds,
        zones: @escaping ZoneOffset
    ) throws(ContractViolation) {
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
