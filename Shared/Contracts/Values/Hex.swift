/// Lowercase hexadecimal text.
package enum Hex {
    /// Two lowercase characters for each byte.
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        // The work is not generic: other modules get no specialised copy of it.
        bytes.withContiguousStorageIfAvailable { encode($0) }
            ?? Array(bytes).withUnsafeBufferPointer { encode($0) }
    }

    private static func encode(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { buffer in
            var index = 0
            for byte in bytes {
                buffer[index] = digit(byte >> 4)
                buffer[index + 1] = digit(byte & 15)
                index += 2
            }
            return index
        }
    }

    static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    /// Whether the text holds nothing but lowercase hexadecimal characters.
    package static func isLowercase(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            // Without a way out in the middle, so that many are looked at together.
            var others: UInt8 = 0
            for byte in bytes {
                let isDigit: UInt8 = byte &- 0x30 < 10 ? 0 : 1
                let isLetter: UInt8 = byte &- 0x61 < 6 ? 0 : 1
                others |= isDigit & isLetter
            }
            return others == 0
        }
    }

    /// The bytes of hexadecimal text of either case, or nil when a character or the length is wrong.
    package static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { characters in
            guard characters.count.isMultiple(of: 2) else { return nil }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(characters.count / 2)
            for index in stride(from: 0, to: characters.count, by: 2) {
                guard
                    let high = nibble(characters[index]),
                    let low = nibble(characters[index + 1])
                else { return nil }
                bytes.append(high << 4 | low)
            }
            return bytes
        }
    }

    private static func nibble(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
