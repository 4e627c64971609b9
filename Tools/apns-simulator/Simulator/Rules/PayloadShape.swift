import Glibc

/// Whether bytes are one JSON object (RFC 8259) whose `aps`, if there is one, is an object too.
///
/// A scanner over the bytes that builds no values and takes eight of them at a time within
/// strings: the simulator looks at every payload, and most of one is a ciphertext in Base64.
struct PayloadShape {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var index = 0
    private var hasOtherThanASCII = false
    private static let deepest = 64

    static func isAcceptable(_ payload: [UInt8]) -> Bool {
        payload.withUnsafeBufferPointer { bytes in
            var scanner = PayloadShape(bytes: bytes)
            scanner.skipSpace()
            guard scanner.object(depth: 0) else { return false }
            scanner.skipSpace()
            guard scanner.index == bytes.count else { return false }
            // Outside strings only ASCII passed.
            return !scanner.hasOtherThanASCII
                || String(validating: bytes, as: UTF8.self) != nil
        }
    }

    private init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        index += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            index += 1
        }
    }

    private mutating func object(depth: Int) -> Bool {
        guard depth < Self.deepest, take(UInt8(ascii: "{")) else { return false }
        skipSpace()
        if take(UInt8(ascii: "}")) { return true }
        repeat {
            skipSpace()
            let start = index
            guard string() else { return false }
            let isAps = depth == 0 && bytes[start..<index].elementsEqual(#""aps""#.utf8)
            skipSpace()
            guard take(UInt8(ascii: ":")) else { return false }
            skipSpace()
            if isAps, next != UInt8(ascii: "{") { return false }
            guard value(depth: depth + 1) else { return false }
            skipSpace()
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "}"))
    }

    private mutating func array(depth: Int) -> Bool {
        guard depth < Self.deepest, take(UInt8(ascii: "[")) else { return false }
        skipSpace()
        if take(UInt8(ascii: "]")) { return true }
        repeat {
            skipSpace()
            guard value(depth: depth + 1) else { return false }
            skipSpace()
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "]"))
    }

    private mutating func value(depth: Int) -> Bool {
        switch next {
        case UInt8(ascii: "{"): object(depth: depth)
        case UInt8(ascii: "["): array(depth: depth)
        case UInt8(ascii: "\""): string()
        case UInt8(ascii: "t"): word("true")
        case UInt8(ascii: "f"): word("false")
        case UInt8(ascii: "n"): word("null")
        default: number()
        }
    }

    private mutating func word(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard index + count <= bytes.count, let start = bytes.baseAddress,
            memcmp(start + index, text.utf8Start, count) == 0
        else { return false }
        index += count
        return true
    }

    private mutating func string() -> Bool {
        guard take(UInt8(ascii: "\"")) else { return false }
        while true {
            skipPlain()
            guard index < bytes.count else { return false }
            let byte = bytes[index]
            index += 1
            if byte == UInt8(ascii: "\"") { return true }
            if byte < 0x20 { return false }
            if byte >= 0x80 { hasOtherThanASCII = true }
            if byte == UInt8(ascii: "\\"), !escape() { return false }
        }
    }

    /// Passes over groups of eight bytes that mean nothing special within a string.
    private mutating func skipPlain() {
        guard let base = bytes.baseAddress else { return }
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops = ones << 7
        while index + 8 <= bytes.count {
            let word = UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self)
            let quotes = word ^ (ones &* 0x22)
            let escapes = word ^ (ones &* 0x5C)
            // A byte is zero, or below 0x20, exactly where the subtraction borrows into its top bit
            // first; bytes of 0x80 and more are stopped at by the last term.
            let special =
                (quotes &- ones) & ~quotes | (escapes &- ones) & ~escapes
                | (word &- ones &* 0x20) & ~word | word
            guard special & tops == 0 else { return }
            index += 8
        }
    }

    private mutating func escape() -> Bool {
        guard let byte = next else { return false }
        index += 1
        switch byte {
        case UInt8(ascii: "u"):
            guard index + 4 <= bytes.count else { return false }
            for digit in bytes[index..<index + 4] {
                let isHex =
                    (0x30...0x39).contains(digit) || (0x41...0x46).contains(digit)
                    || (0x61...0x66).contains(digit)
                guard isHex else { return false }
            }
            index += 4
            return true
        default: return #""\/bfnrt"#.utf8.contains(byte)
        }
    }

    private mutating func number() -> Bool {
        _ = take(UInt8(ascii: "-"))
        let start = index
        guard digits() else { return false }
        if bytes[start] == UInt8(ascii: "0"), index > start + 1 { return false }
        if take(UInt8(ascii: ".")), !digits() { return false }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            return digits()
        }
        return true
    }

    private mutating func digits() -> Bool {
        let start = index
        while let byte = next, (0x30...0x39).contains(byte) { index += 1 }
        return index > start
    }
}
