import FoundationEssentials

/// Reads and writes lowercase 8-4-4-4-12 text; Foundation goes through scanf and printf, and every
/// message on every hop carries such identifiers.
enum UUIDText {
    /// Where the hyphens are.
    private static func isHyphen(_ index: Int) -> Bool {
        index == 8 || index == 13 || index == 18 || index == 23
    }

    /// Nil for anything but 36 bytes of lowercase hex and hyphens in their places.
    static func parse(_ text: UnsafeBufferPointer<UInt8>) -> uuid_t? {
        guard text.count == 36 else { return nil }
        var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        let isWellFormed = withUnsafeMutableBytes(of: &uuid) { bytes in
            var digits = 0
            for index in 0..<36 {
                if isHyphen(index) {
                    guard text[index] == 0x2d else { return false }
                    continue
                }
                guard let digit = value(text[index]) else { return false }
                bytes[digits / 2] = bytes[digits / 2] << 4 | digit
                digits += 1
            }
            return true
        }
        return isWellFormed ? uuid : nil
    }

    /// The text of 16 bytes.
    static func write(_ bytes: UnsafeRawBufferPointer) -> String {
        String(unsafeUninitializedCapacity: 36) { text in
            var digits = 0
            for index in 0..<36 {
                if isHyphen(index) {
                    text[index] = 0x2d
                    continue
                }
                let byte = bytes[digits / 2]
                let digit = digits.isMultiple(of: 2) ? byte >> 4 : byte & 15
                text[index] = digit < 10 ? 0x30 + digit : 0x61 + digit - 10
                digits += 1
            }
            return 36
        }
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }
}
