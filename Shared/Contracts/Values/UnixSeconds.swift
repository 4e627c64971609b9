/// A wall-clock instant in whole seconds since 1970-01-01 UTC, the unit of every `…_at` field.
package struct UnixSeconds: Hashable, Comparable, Codable, Sendable {
    package var seconds: Int64

    package init(_ seconds: Int64) { self.seconds = seconds }

    package init(from decoder: any Decoder) throws {
        seconds = try decoder.singleValueContainer().decode(Int64.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(seconds)
    }

    package static func < (left: Self, right: Self) -> Bool { left.seconds < right.seconds }

    /// The same instant plus `seconds`, held at the ends of the range instead of overflowing.
    package func adding(seconds more: Int64) -> Self {
        let (sum, overflow) = seconds.addingReportingOverflow(more)
        return Self(overflow ? (more > 0 ? .max : .min) : sum)
    }

    /// The first millisecond of this second.
    package var start: UnixMilliseconds {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return UnixMilliseconds(overflow ? (seconds > 0 ? .max : .min) : product)
    }
}
