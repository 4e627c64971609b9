/// The UUID of a notification, `apns-id`, without its text form.
struct MessageID: Hashable, Sendable {
    var high: UInt64
    var low: UInt64

    static let textBytes = 36

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Takes 8-4-4-4-12 hex digits in lowercase, as Apple demands; nil for anything else.
    init?(canonical text: UnsafeBufferPointer<UInt8>) {
        guard text.count == Self.textBytes else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        var digits = 0
        for (place, byte) in text.enumerated() {
            if place == 8 || place == 13 || place == 18 || place == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            let digit: UInt8
            switch byte {
            case 0x30...0x39: digit = byte - 0x30
            case 0x61...0x66: digit = byte - 0x57
            default: return nil
            }
            if digits < 16 {
                words.0 = words.0 << 4 | UInt64(digit)
            } else {
                words.1 = words.1 << 4 | UInt64(digit)
            }
            digits += 1
        }
        (high, low) = words
    }

    /// Lends the text form.
    func withText<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.textBytes) { text in
            var place = 0
            for index in 0..<32 {
                if index == 8 || index == 12 || index == 16 || index == 20 {
                    text[place] = UInt8(ascii: "-")
                    place += 1
                }
                let word = index < 16 ? high : low
                let digit = UInt8(word >> UInt64(60 - 4 * (index % 16)) & 15)
                text[place] = digit < 10 ? digit + 0x30 : digit + 0x57
                place += 1
            }
            return body(UnsafeBufferPointer(text))
        }
    }

    var text: String { withText { String(decoding: $0, as: UTF8.self) } }
}
