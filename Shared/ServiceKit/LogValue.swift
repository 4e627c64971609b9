/// A value in a log line.
package enum LogValue: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByStringInterpolation
{
    case string(String)
    case int(Int64)
    case double(Double)
    case bool(Bool)
    case strings([String])

    package init(stringLiteral value: String) {
        self = .string(value)
    }

    package init(integerLiteral value: Int64) {
        self = .int(value)
    }

    package init(booleanLiteral value: Bool) {
        self = .bool(value)
    }

    /// A whole number of any width; what does not fit is held at the end of the range.
    package static func int(_ value: some BinaryInteger) -> LogValue {
        .int(Int64(clamping: value))
    }

    /// The description of an error or identifier; never of something that holds a secret.
    package static func text(_ value: some CustomStringConvertible) -> LogValue {
        .string(value.description)
    }

    /// Whatever an error says about itself.
    package static func error(_ error: any Error) -> LogValue {
        .string(String(describing: error))
    }

    /// Milliseconds with fractions.
    package static func milliseconds(_ duration: Duration) -> LogValue {
        .double(Double(duration.clampedNanoseconds / 1_000) / 1_000)
    }
}
