/// Reads one JSON object and keeps its top-level texts and numbers; deeper values are skipped.
///
/// Returns nil for anything that is not exactly one JSON object, and never reads beyond the bytes.
struct FlatJSONScanner {
    /// A top-level value.
    enum Field: Hashable, Sendable {
        case text(String)
        /// A number as it is written.
        case number(String)
        /// Null, a truth value, an array or an object.
        case other
    }

    private static let maximumDepth = 16

    private let bytes: [UInt8]
    private var index = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The members of the object; of a repeated name the first one counts.
    mutating func object() -> [String: Field]? {
        guard let fields = members(depth: 0) else { return nil }
        skipSpace()
        return index == bytes.count ? fields : nil
    }

    private mutating func members(depth: Int) -> [String: Field]? {
        guard depth < Self.maximumDepth, take(UInt8(ascii: "{")) else { return nil }
        var fields: [String: Field] = [:]
        if take(UInt8(ascii: "}")) { return fields }
        while true {
            guard let name = text(), take(UInt8(ascii: ":")), let value = value(depth: depth) else {
                return nil
            }
            if fields[name] == nil { fields[name] = value }
            if take(UInt8(ascii: "}")) { return fields }
            guard take(UInt8(ascii: ",")) else { return nil }
        }
    }

    private mutating func value(depth: Int) -> Field? {
        skipSpace()
        guard index < bytes.count else { return nil }
        switch bytes[index] {
        case UInt8(ascii: "\""): return text().map { .text($0) }
        case UInt8(ascii: "{"): return members(depth: depth + 1).map { _ in .other }
        case UInt8(ascii: "["): return array(depth: depth + 1) ? .other : nil
        case UInt8(ascii: "t"): return literal("true")
        case UInt8(ascii: "f"): return literal("false")
        case UInt8(ascii: "n"): return literal("null")
        default: return number()
        }
    }

    private mutating func array(depth: Int) -> Bool {
        guard depth < Self.maximumDepth, take(UInt8(ascii: "[")) else { return false }
        if take(UInt8(ascii: "]")) { return true }
        while true {
            guard value(depth: depth) != nil else { return false }
            if take(UInt8(ascii: "]")) { return true }
            guard take(UInt8(ascii: ",")) else { return false }
        }
    }

    private mutating func literal(_ word: StaticString) -> Field? {
        let end = index + word.utf8CodeUnitCount
        guard end <= bytes.count else { return nil }
        let matches = word.withUTF8Buffer { bytes[index..<end].elementsEqual($0) }
        guard matches else { return nil }
        index = end
        return .other
    }

    private mutating func number() -> Field? {
        let start = index
        while index < bytes.count, Self.numberBytes.contains(bytes[index]) { index += 1 }
        guard index > start else { return nil }
        return .number(String(decoding: bytes[start..<index], as: UTF8.self))
    }

    private static let numberBytes = Set("+-.0123456789eE".utf8)

    private mutating func text() -> String? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        var content: [UInt8] = []
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return String(validating: content, as: UTF8.self)
            case UInt8(ascii: "\\"): guard escape(&content) else { return nil }
            case 0..<0x20: return nil
            default: content.append(byte)
            }
        }
        return nil
    }

    private mutating func escape(_ content: inout [UInt8]) -> Bool {
        guard index < bytes.count else { return false }
        let byte = bytes[index]
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): content.append(byte)
        case UInt8(ascii: "b"): content.append(0x08)
        case UInt8(ascii: "f"): content.append(0x0c)
        case UInt8(ascii: "n"): content.append(0x0a)
        case UInt8(ascii: "r"): content.append(0x0d)
        case UInt8(ascii: "t"): content.append(0x09)
        case UInt8(ascii: "u"): return unicode(&content)
        default: return false
        }
        return true
    }

    private mutating func unicode(_ content: inout [UInt8]) -> Bool {
        guard var code = hex() else { return false }
        if (0xd800..<0xdc00).contains(code) {
            guard index + 1 < bytes.count, bytes[index] == UInt8(ascii: "\\"),
                bytes[index + 1] == UInt8(ascii: "u")
            else { return false }
            index += 2
            guard let low = hex(), (0xdc00..<0xe000).contains(low) else { return false }
            code = 0x10000 + (code - 0xd800) << 10 + (low - 0xdc00)
        }
        guard let scalar = Unicode.Scalar(code) else { return false }
        content.append(contentsOf: String(Character(scalar)).utf8)
        return true
    }

    private mutating func hex() -> UInt32? {
        guard index + 4 <= bytes.count else { return nil }
        var value: UInt32 = 0
        for _ in 0..<4 {
            let byte = bytes[index]
            index += 1
            switch byte {
            case 0x30...0x39: value = value << 4 | UInt32(byte - 0x30)
            case 0x41...0x46: value = value << 4 | UInt32(byte - 0x41 + 10)
            case 0x61...0x66: value = value << 4 | UInt32(byte - 0x61 + 10)
            default: return nil
            }
        }
        return value
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        skipSpace()
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }

    private mutating func skipSpace() {
        while index < bytes.count, Self.space.contains(bytes[index]) { index += 1 }
    }

    private static let space: Set<UInt8> = [0x20, 0x09, 0x0a, 0x0d]
}
