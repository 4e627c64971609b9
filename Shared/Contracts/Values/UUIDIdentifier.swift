#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// An identifier whose only accepted text is a lowercase 8-4-4-4-12 UUID; `Tag` keeps kinds apart.
package struct UUIDIdentifier<Tag>: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let uuid: UUID

    package init(_ uuid: UUID) { self.uuid = uuid }

    /// Takes the canonical lowercase form and nothing else.
    package init?(_ text: String) {
        var text = text
        guard let uuid = text.withUTF8(UUIDText.parse) else { return nil }
        self.uuid = UUID(uuid: uuid)
    }

    /// Takes the bytes of the canonical lowercase form and nothing else.
    init?(text: UnsafeRawBufferPointer) {
        guard let uuid = text.withMemoryRebound(to: UInt8.self, UUIDText.parse) else { return nil }
        self.uuid = UUID(uuid: uuid)
    }

    /// Makes an identifier from the first 16 of `bytes` with the version (8) and variant bits of
    /// RFC 9562 set; nil with fewer than 16 bytes.
    package init?(hash bytes: [UInt8]) {
        guard bytes.count >= 16 else { return nil }
        var b = Array(bytes.prefix(16))
        b[6] = (b[6] & 0x0f) | 0x80
        b[8] = (b[8] & 0x3f) | 0x80
        self.uuid = UUID(
            uuid: (
                b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7],
                b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]
            )
        )
    }

    /// The 16 bytes in text order.
    package var bytes: [UInt8] { withUnsafeBytes(of: uuid.uuid) { Array($0) } }

    package var description: String { withUnsafeBytes(of: uuid.uuid, UUIDText.write) }

    package static func < (left: Self, right: Self) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}

extension UUIDIdentifier: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "not a lowercase UUID"
            )
        }
        self = value
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// One logical happening, the same on every hop and in every retry.
package enum EventTag {}
/// One content key of one installation.
package enum KeyTag {}

package typealias EventID = UUIDIdentifier<EventTag>
package typealias KeyID = UUIDIdentifier<KeyTag>
