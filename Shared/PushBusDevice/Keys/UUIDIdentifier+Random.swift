import Contracts

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension UUIDIdentifier {
    /// A version 4 identifier (RFC 9562) of 16 random bytes; nil with any other number.
    package init?(random16 bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        var b = bytes
        b[6] = (b[6] & 0x0f) | 0x40
        b[8] = (b[8] & 0x3f) | 0x80
        self.init(
            UUID(
                uuid: (
                    b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7],
                    b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]
                )
            )
        )
    }
}
