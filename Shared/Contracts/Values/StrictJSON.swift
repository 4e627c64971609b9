/// A JSON value read from bytes that somebody else wrote: valid UTF-8, no duplicate keys, bounded
/// depth, numbers kept as text so that no digit is lost (RFC 8259).
package indirect enum StrictJSON: Hashable, Sendable {
    case null
    case bool(Bool)
    /// The literal as it stands in the text.
    case number(String)
    case string(String)
    case array([StrictJSON])
    case object([String: StrictJSON])

    /// Why a text is not acceptable JSON and at which byte.
    package struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        package let offset: Int
        package let reason: String

        package var description: String { "not acceptable JSON at byte \(offset): \(reason)" }
    }

    /// Parses one value that fills the text; at most `depth` levels of nesting.
    package init(parsing bytes: [UInt8], depth: Int = 16) throws(Failure) {
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw Failure(offset: 0, reason: "the text is not valid UTF-8")
        }
        var reader = StrictJSONReader(bytes: bytes)
        self = try reader.document(depth: depth)
    }

    /// The string, or nil for any other kind of value.
    package var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The number if it is written as a plain integer that every JSON implementation keeps exactly
    /// (magnitude at most 2^53 - 1), or nil.
    package var safeInteger: Int64? {
        guard case .number(let literal) = self, let value = Int64(literal) else { return nil }
        return value.magnitude <= 9_007_199_254_740_991 ? value : nil
    }

    /// The flag, or nil for any other kind of value.
    package var flag: Bool? {
        if case .bool(let flag) = self { flag } else { nil }
    }

    /// The members, or nil for any other kind of value.
    package var members: [String: StrictJSON]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The member of that name of an object.
    package subscript(_ key: String) -> StrictJSON? { members?[key] }
}
