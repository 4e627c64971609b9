/// The 32-byte AES key of one installation. It has no description and no mirror, so that no log,
/// error or debugger line can print it.
package struct ContentKey: Hashable, Sendable {
    package let bytes: [UInt8]

    /// Takes exactly 32 bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        self.bytes = bytes
    }
}

extension ContentKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "‹content key›" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension ContentKey: Codable {
    package init(from decoder: any Decoder) throws {
        guard let key = Self(try Blob(from: decoder).bytes) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "not 32 bytes")
            )
        }
        self = key
    }

    package func encode(to encoder: any Encoder) throws {
        try Blob(bytes).encode(to: encoder)
    }
}
