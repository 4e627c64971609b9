/// A wall-clock instant in milliseconds since 1970-01-01 UTC, the unit of every `…_ms` field.
package struct UnixMilliseconds: Hashable, Comparable, Codable, Sendable {
    package var milliseconds: Int64

    package init(_ milliseconds: Int64) { self.milliseconds = milliseconds }

    package init(from decoder: any Decoder) throws {
        milliseconds = try decoder.singleValueContainer().decode(Int64.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(milliseconds)
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// The same instant plus `milliseconds`, held at the ends of the range.
    package func adding(milliseconds more: Int64) -> Self {
        let (sum, overflow) = milliseconds.addingReportingOverflow(more)
        return Self(overflow ? (more > 0 ? .max : .min) : sum)
    }

    /// The second this instant lies in, rounded down.
    package var second: UnixSeconds {
        let quotient = milliseconds / 1000
        return UnixSeconds(milliseconds % 1000 < 0 ? quotient - 1 : quotient)
    }
}
