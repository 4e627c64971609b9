/// One value that goes into a statement or comes out of a row.
package enum SQLValue: Hashable, Sendable {
    case null
    case int(Int64)
    case text(String)
    case blob([UInt8])
}

extension SQLValue {
    /// A native integer.
    package static func int(_ value: Int) -> SQLValue {
        .int(Int64(value))
    }

    /// 1 for true, 0 for false.
    package static func bool(_ value: Bool) -> SQLValue {
        .int(value ? 1 : 0)
    }

    /// The integer, or NULL where there is none.
    package static func int(orNull value: Int64?) -> SQLValue {
        value.map { .int($0) } ?? .null
    }

    /// The text, or NULL where there is none.
    package static func text(orNull value: String?) -> SQLValue {
        value.map { .text($0) } ?? .null
    }

    /// The bytes, or NULL where there are none.
    package static func blob(orNull value: [UInt8]?) -> SQLValue {
        value.map { .blob($0) } ?? .null
    }
}

extension SQLValue: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByNilLiteral
{
    package init(integerLiteral value: Int64) { self = .int(value) }
    package init(stringLiteral value: String) { self = .text(value) }
    package init(nilLiteral: ()) { self = .null }
}
