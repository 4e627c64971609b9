import Contracts
import Glibc

/// A secret in the forms in which it could be written somewhere.
struct SecretForms: Sendable {
    let name: String
    private let patterns: [[UInt8]]

    /// A text, such as a mark in an event.
    init(_ name: String, text: String) { self.init(name, bytes: Array(text.utf8)) }

    /// Bytes, such as a key: raw, in hexadecimal, and in base64 at each of three alignments.
    init(_ name: String, bytes: [UInt8]) {
        self.name = name
        let hex = Hex.encode(bytes)
        var patterns = [bytes, Array(hex.utf8), Array(hex.uppercased().utf8)]
        for lead in 0..<3 {
            let padded = Array(repeating: UInt8(0), count: lead) + bytes
            let whole = padded.count / 3 * 3
            // Without the characters that depend on what stands before and after.
            let text = Blob(Array(padded[..<whole])).base64.dropFirst(lead == 0 ? 0 : 4)
            patterns.append(Array(text.utf8))
            patterns.append(Array(text.utf8.map { Self.urlSafe($0) }))
        }
        self.patterns = patterns
    }

    private static func urlSafe(_ character: UInt8) -> UInt8 {
        switch character {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: character
        }
    }

    /// Whether any form of it is in these bytes.
    func isFound(in bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { text in
            patterns.contains { pattern in
                pattern.withUnsafeBytes { Self.find($0, in: text) }
            }
        }
    }

    private static func find(
        _ pattern: UnsafeRawBufferPointer,
        in text: UnsafeRawBufferPointer
    ) -> Bool {
        guard var place = text.baseAddress, let wanted = pattern.baseAddress else { return false }
        var left = text.count
        while left >= pattern.count {
            let first = Int32(pattern[0])
            guard let hit = memchr(place, first, left - pattern.count + 1) else { return false }
            if memcmp(hit, wanted, pattern.count) == 0 { return true }
            left -= UnsafeRawPointer(hit) - place + 1
            place = UnsafeRawPointer(hit) + 1
        }
        return false
    }
}
