/// Reads one JSON document from bytes already known to be valid UTF-8.
struct StrictJSONReader {
    private let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func document(depth: Int) throws(StrictJSON.Failure) -> StrictJSON {
        let value = try value(depth: depth)
        skipSpace()
        guard position == bytes.count else { throw failure("something follows the value") }
        return value
    }

    private mutating func value(depth: Int) throws(StrictJSON.Failure) -> StrictJSON {
        skipSpace()
        guard let next = peek else { throw failure("a value is missing") }
        switch next {
        case UInt8(ascii: "{"):
            guard depth > 0 else { throw failure("nested too deeply") }
            return try object(depth: depth - 1)
        case UInt8(ascii: "["):
            guard depth > 0 else { throw failure("nested too deeply") }
            return try array(depth: depth - 1)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func object(depth: Int) throws(StrictJSON.Failure) -> StrictJSON {
        position += 1
        var members: [String: StrictJSON] = [:]
        skipSpace()
        if take(UInt8(ascii: "}")) { return .object(members) }
        while true {
            skipSpace()
            guard peek == UInt8(ascii: "\"") else { throw failure("a key is missing") }
            let key = try string()
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw failure("a colon is missing") }
            let member = try value(depth: depth)
            guard members.updateValue(member, forKey: key) == nil else {
                throw failure("a key occurs twice")
            }
            skipSpace()
            if take(UInt8(ascii: "}")) { return .object(members) }
            guard take(UInt8(ascii: ",")) else { throw failure("a comma is missing") }
        }
    }

    private mutating func array(depth: Int) throws(StrictJSON.Failure) -> StrictJSON {
        position += 1
        var elements: [StrictJSON] = []
        skipSpace()
        if take(UInt8(ascii: "]")) { return .array(elements) }
        while true {
            elements.append(try value(depth: depth))
            skipSpace()
            if take(UInt8(ascii: "]")) { return .array(elements) }
            guard take(UInt8(ascii: ",")) else { throw failure("a comma is missing") }
        }
    }

    private mutating func string() throws(StrictJSON.Failure) -> String {
        position += 1
        var text: [UInt8] = []
        while let byte = peek {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): text.append(contentsOf: try escape())
            case 0..<0x20: throw failure("a control character is not escaped")
            default: text.append(byte)
            }
        }
        throw failure("a string does not end")
    }

    private mutating func escape() throws(StrictJSON.Failure) -> [UInt8] {
        guard let byte = peek else { throw failure("a string does not end") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0c]
        case UInt8(ascii: "n"): return [0x0a]
        case UInt8(ascii: "r"): return [0x0d]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"): return try unicodeEscape()
        default: throw failure("an escape is unknown")
        }
    }

    private mutating func unicodeEscape() throws(StrictJSON.Failure) -> [UInt8] {
        let first = try codeUnit()
        var scalarValue = UInt32(first)
        if UTF16.isLeadSurrogate(first) {
            guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
                throw failure("half of a surrogate pair is missing")
            }
            let second = try codeUnit()
            guard UTF16.isTrailSurrogate(second) else {
                throw failure("half of a surrogate pair is missing")
            }
            scalarValue = 0x10000 + (UInt32(first) & 0x3ff) << 10 + UInt32(second) & 0x3ff
        }
        guard let scalar = Unicode.Scalar(scalarValue) else {
            throw failure("half of a surrogate pair is missing")
        }
        return Array(String(Character(scalar)).utf8)
    }

    private mutating func codeUnit() throws(StrictJSON.Failure) -> UInt16 {
        guard position + 4 <= bytes.count else { throw failure("an escape is cut off") }
        var unit: UInt16 = 0
        for byte in bytes[position..<position + 4] {
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            default: throw failure("an escape has a character that is no hex digit")
            }
            unit = unit << 4 | UInt16(digit)
        }
        position += 4
        return unit
    }

    private mutating func number() throws(StrictJSON.Failure) -> String {
        let start = position
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")), digits() == 0 { throw failure("a value is missing") }
        if take(UInt8(ascii: ".")), digits() == 0 { throw failure("a fraction has no digits") }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            if digits() == 0 { throw failure("an exponent has no digits") }
        }
        if let next = peek, (0x30...0x39).contains(next) { throw failure("a number begins with 0") }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func digits() -> Int {
        let start = position
        while let byte = peek, (0x30...0x39).contains(byte) { position += 1 }
        return position - start
    }

    private mutating func word(
        _ word: String,
        _ value: StrictJSON
    ) throws(StrictJSON.Failure) -> StrictJSON {
        guard bytes[position...].starts(with: word.utf8) else {
            throw failure("a value is missing")
        }
        position += word.utf8.count
        return value
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d {
            position += 1
        }
    }

    private func failure(_ reason: String) -> StrictJSON.Failure {
        StrictJSON.Failure(offset: position, reason: reason)
    }
}
