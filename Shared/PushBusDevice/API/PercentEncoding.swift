import Contracts

/// Percent-encoding of RFC 3986 section 2.
enum PercentEncoding {
    /// Encodes everything but the unreserved characters.
    static func encode(_ text: String) -> String {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e, 0x5f, 0x7e:
                encoded.append(byte)
            default: encoded += Array("%\(Hex.encode([byte]).uppercased())".utf8)
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Decodes; nil when a percent sign is not followed by two hex digits or the result is not UTF-8.
    static func decode(_ text: some StringProtocol) -> String? {
        var decoded: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte)
                continue
            }
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            guard digits.utf8.count == 2, let value = Hex.decode(digits)?.first else { return nil }
            decoded.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: decoded, as: UTF8.self)
    }
}
