/// A time in which triggers and detections of the covered servers notify nobody.
///
/// Exactly one of `once` and `weekly` is there.
package struct MaintenanceWindow: Codable, Hashable, Sendable {
    package var id: String
    package var name: String
    package var isEnabled: Bool
    package var coverage: Coverage
    package var once: Once?
    package var weekly: Weekly?

    /// From one instant until, and without, another.
    package struct Once: Codable, Hashable, Sendable {
        package var from: UnixSeconds
        package var until: UnixSeconds

        package init(from: UnixSeconds, until: UnixSeconds) {
            self.from = from
            self.until = until
        }
    }

    /// On days of the week between two times of a local clock.
    package struct Weekly: Codable, Hashable, Sendable {
        /// A name of the system's time zone data, such as `Europe/Berlin`.
        package var zone: String
        /// The days on which it begins.
        package var days: [Weekday]
        package var from: WallTime
        /// When it is not later than `from` it is a time of the following day.
        package var until: WallTime

        package init(zone: String, days: [Weekday], from: WallTime, until: WallTime) {
            self.zone = zone
            self.days = days
            self.from = from
            self.until = until
        }
    }

    package init(
        id: String,
        name: String,
        isEnabled: Bool = true,
        coverage: Coverage = .all,
        once: Once? = nil,
        weekly: Weekly? = nil
    ) {
        self.id = id
        self.name = name
        self.isEnabled = isEnabled
        self.coverage = coverage
        self.once = once
        self.weekly = weekly
    }

    enum CodingKeys: String, CodingKey {
        case id
        case name
        case isEnabled = "enabled"
        case coverage
        case once
        case weekly
    }

    package func checkBounds() throws(ContractViolation) {
        try PolicyBounds.identifier(id, "/id")
        try PolicyBounds.identifier(name, "/name")
        try coverage.check("/coverage")
        try ContractViolation.check(
            (once == nil) != (weekly == nil),
            "",
            "must have either once or weekly"
        )
        if let once {
            try ContractViolation.check(
                once.from < once.until,
                "/once/until",
                "must be later than from"
            )
        }
        if let weekly {
            try ContractViolation.check(
                (1...7).contains(weekly.days.count) && Set(weekly.days).count == weekly.days.count,
                "/weekly/days",
                "must name one to seven different days"
            )
        }
    }
}

package enum Weekday: String, Codable, CaseIterable, Sendable {
    case monday = "mon"
    case tuesday = "tue"
    case wednesday = "wed"
    case thursday = "thu"
    case friday = "fri"
    case saturday = "sat"
    case sunday = "sun"

    /// The weekday of a day counted from 1970-01-01, which was a Thursday.
    package init(daysSinceEpoch days: Int64) {
        let index = (days % 7 + 10) % 7
        self = Self.allCases[Int(index)]
    }
}

/// A time of day on a local clock: `HH:MM`.
package struct WallTime: Codable, Hashable, Sendable, CustomStringConvertible {
    /// Minutes since midnight, 0 to 1439.
    package let minutes: Int64

    package init?(minutes: Int64) {
        guard (0..<1440).contains(minutes) else { return nil }
        self.minutes = minutes
    }

    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
        var digits: [Int64] = []
        for index in [0, 1, 3, 4] {
            guard (0x30...0x39).contains(bytes[index]) else { return nil }
            digits.append(Int64(bytes[index]) - 0x30)
        }
        let (hour, minute) = (digits[0] * 10 + digits[1], digits[2] * 10 + digits[3])
        guard hour < 24, minute < 60 else { return nil }
        self.init(minutes: hour * 60 + minute)
    }

    package var description: String {
        let digits = [minutes / 600, minutes / 60 % 10, minutes % 60 / 10, minutes % 10]
        return "\(digits[0])\(digits[1]):\(digits[2])\(digits[3])"
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "not a time of day as HH:MM"
            )
        }
        self = value
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
