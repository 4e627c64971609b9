#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Reads and writes lowercase 8-4-4-4-12 text; Foundation goes through scanf and printf, and every
/// message on every hop carries such identifiers.
enum UUIDText {
    /// Nil for anything but 36 bytes of lowercase hex and hyphens in their places.
    static func parse(_ text: UnsafeBufferPointer<UInt8>) -> uuid_t? {
        guard text.count == 36 else { return nil }
        var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        let isWellFormed = withUnsafeMutableBytes(of: &uuid) { bytes in
            var index = 0
            for place in 0..<16 {
                if hasHyphen(before: place) {
                    guard text[index] == 0x2d else { return false }
                    index += 1
                }
                guard let high = value(text[index]), let low = value(text[index + 1]) else {
                    return false
                }
                bytes[place] = high << 4 | low
                index += 2
            }
            return true
        }
        return isWellFormed ? uuid : nil
    }

    /// The text of 16 bytes.
    static func write(_ bytes: UnsafeRawBufferPointer) -> String {
        String(unsafeUninitializedCapacity: 36) { text in
            var index = 0
            for place in 0..<16 {
                if hasHyphen(before: place) {
                    text[index] = 0x2d
                    index += 1
                }
                text[index] = Hex.digit(bytes[place] >> 4)
                text[index + 1] = Hex.digit(bytes[place] & 15)
                index += 2
            }
            return index
        }
    }

    /// Whether a hyphen stands before this one of the 16 bytes.
    private static func hasHyphen(before place: Int) -> Bool {
        place == 4 || place == 6 || place == 8 || place == 10
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }
}
