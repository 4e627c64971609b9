#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Bytes that travel as standard base64 in JSON and as bin in MessagePack.
package struct Blob: Hashable, Codable, Sendable {
    package var bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Takes canonical standard base64 with padding only.
    package init?(base64 text: String) {
        guard let data = Data(base64Encoded: text), data.base64EncodedString() == text else {
            return nil
        }
        bytes = [UInt8](data)
    }

    /// Standard base64 with padding.
    package var base64: String { Data(bytes).base64EncodedString() }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = Self(base64: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "not canonical base64"
            )
        }
        self = value
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(base64)
    }
}
