/// Base64 of RFC 4648: the standard alphabet with padding, and the URL alphabet without.
package enum Base64 {
    private static let standard = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )
    private static let url = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8
    )
    private static let padding = UInt8(ascii: "=")

    /// Standard alphabet, padded.
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        String(decoding: encoded(bytes, alphabet: standard, padded: true), as: UTF8.self)
    }

    /// Appends the padded text in the standard alphabet to the bytes of a writer.
    package static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
        bytes.withUnsafeBufferPointer { append($0, to: &text, standard, padded: true) }
    }

    /// URL alphabet without padding, as JSON Web Tokens use it (RFC 7515 section 2).
    package static func encodeURL(_ bytes: some Collection<UInt8>) -> String {
        String(decoding: encoded(bytes, alphabet: url, padded: false), as: UTF8.self)
    }

    /// Decodes only the canonical form: right alphabet, full padding, unused bits zero.
    package static func decode(_ text: String) -> [UInt8]? {
        var characters = ArraySlice(text.utf8)
        guard characters.count.isMultiple(of: 4) else { return nil }
        for _ in 0..<2 where characters.last == padding { characters.removeLast() }
        return decoded(characters, plus: UInt8(ascii: "+"), slash: UInt8(ascii: "/"))
    }

    /// Decodes only the canonical URL form without padding.
    package static func decodeURL(_ text: String) -> [UInt8]? {
        decoded(ArraySlice(text.utf8), plus: UInt8(ascii: "-"), slash: UInt8(ascii: "_"))
    }

    private static func encoded(
        _ bytes: some Collection<UInt8>,
        alphabet: [UInt8],
        padded: Bool
    ) -> [UInt8] {
        var text: [UInt8] = []
        // The work is not generic: other modules get no specialised copy of it.
        let isDone: Void? = bytes.withContiguousStorageIfAvailable {
            append($0, to: &text, alphabet, padded: padded)
        }
        if isDone == nil {
            Array(bytes).withUnsafeBufferPointer {
                append($0, to: &text, alphabet, padded: padded)
            }
        }
        return text
    }

    private static func append(
        _ bytes: UnsafeBufferPointer<UInt8>,
        to text: inout [UInt8],
        _ alphabet: [UInt8],
        padded: Bool
    ) {
        let whole = bytes.count / 3 * 3
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: (bytes.count + 2) / 3 * 4) { out in
            var count = 0
            alphabet.withUnsafeBufferPointer { alphabet in
                func put(_ bits: UInt32) {
                    out[count] = alphabet[Int(bits & 63)]
                    count += 1
                }
                for index in stride(from: 0, to: whole, by: 3) {
                    let triple =
                        UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8
                        | UInt32(bytes[index + 2])
                    put(triple >> 18)
                    put(triple >> 12)
                    put(triple >> 6)
                    put(triple)
                }
                let rest = bytes.count - whole
                guard rest > 0 else { return }
                let second = rest == 2 ? UInt32(bytes[whole + 1]) << 8 : 0
                let triple = UInt32(bytes[whole]) << 16 | second
                put(triple >> 18)
                put(triple >> 12)
                if rest == 2 { put(triple >> 6) }
                while padded, count < out.count {
                    out[count] = padding
                    count += 1
                }
            }
            text.append(contentsOf: UnsafeBufferPointer(rebasing: out[..<count]))
        }
    }

    private static func decoded(
        _ characters: ArraySlice<UInt8>,
        plus: UInt8,
        slash: UInt8
    ) -> [UInt8]? {
        guard characters.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(characters.count * 3 / 4)
        var accumulator: UInt32 = 0
        var held = 0
        for character in characters {
            let value: UInt8
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = character - UInt8(ascii: "0") + 52
            case plus: value = 62
            case slash: value = 63
            default: return nil
            }
            accumulator = (accumulator << 6 | UInt32(value)) & 0xfff
            held += 6
            if held >= 8 {
                held -= 8
                bytes.append(UInt8(truncatingIfNeeded: accumulator >> UInt32(held)))
            }
        }
        // Bits that no byte uses must be zero, or two texts would mean the same bytes.
        guard accumulator & (1 << UInt32(held) - 1) == 0 else { return nil }
        return bytes
    }
}
