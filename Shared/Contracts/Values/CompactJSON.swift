/// Writes compact JSON in a fixed key order with `/` as it is, which encoders do not promise.
///
/// Escapes are those of RFC 8259 that are required, with the short forms where they exist and
/// lowercase hex otherwise: byte for byte what serde_json and Python's json.dumps
/// (ensure_ascii off) write, so that a hash over the text is the same everywhere.
package struct CompactJSON: Sendable {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false
    private static let hexDigits = Array("0123456789abcdef".utf8)

    package init(reservingBytes capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    /// Goes on after `head`, which ends with a key whose value comes next.
    package init(continuing head: [UInt8], reservingBytes capacity: Int) {
        bytes.reserveCapacity(head.count + capacity)
        bytes += head
    }

    /// Ends an object that was begun in the head.
    package mutating func end() { bytes.append(UInt8(ascii: "}")) }

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Writes an object as the value at this place.
    package mutating func object(_ body: (inout Self) -> Void) {
        nested(UInt8(ascii: "{"), UInt8(ascii: "}"), body)
    }

    /// Writes an array as the value at this place.
    package mutating func array(_ body: (inout Self) -> Void) {
        nested(UInt8(ascii: "["), UInt8(ascii: "]"), body)
    }

    /// Writes the key of the next value of an object.
    package mutating func key(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func value(_ text: String) {
        separate()
        quote(text)
    }

    package mutating func value(_ number: some FixedWidthInteger) {
        separate()
        bytes.append(contentsOf: String(number).utf8)
    }

    package mutating func value(_ flag: Bool) {
        separate()
        bytes.append(contentsOf: (flag ? "true" : "false").utf8)
    }

    /// Writes binary data as a string of standard base64.
    package mutating func base64(_ data: [UInt8]) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        Base64.append(data, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    package mutating func field(_ name: String, _ text: String) {
        key(name)
        value(text)
    }

    package mutating func field(_ name: String, _ number: some FixedWidthInteger) {
        key(name)
        value(number)
    }

    /// How many bytes the character takes inside a JSON string.
    package static func encodedBytes(of byte: UInt8) -> Int {
        switch byte {
        case 0x22, 0x5c, 0x08, 0x09, 0x0a, 0x0c, 0x0d: 2
        case 0..<0x20: 6
        default: 1
        }
    }

    private mutating func nested(_ open: UInt8, _ close: UInt8, _ body: (inout Self) -> Void) {
        separate()
        bytes.append(open)
        needsComma = false
        body(&self)
        bytes.append(close)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func quote(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        // Most texts need no escapes and are copied as a whole.
        let isCopied: Void? = text.utf8.withContiguousStorageIfAvailable { utf8 in
            if utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x22 && $0 != 0x5c }) {
                bytes.append(contentsOf: utf8)
            } else {
                escape(utf8)
            }
        }
        if isCopied == nil { Array(text.utf8).withUnsafeBufferPointer { escape($0) } }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func escape(_ utf8: UnsafeBufferPointer<UInt8>) {
        for byte in utf8 {
            switch byte {
            case 0x22, 0x5c: bytes.append(contentsOf: [0x5c, byte])
            case 0x08: bytes.append(contentsOf: [0x5c, UInt8(ascii: "b")])
            case 0x09: bytes.append(contentsOf: [0x5c, UInt8(ascii: "t")])
            case 0x0a: bytes.append(contentsOf: [0x5c, UInt8(ascii: "n")])
            case 0x0c: bytes.append(contentsOf: [0x5c, UInt8(ascii: "f")])
            case 0x0d: bytes.append(contentsOf: [0x5c, UInt8(ascii: "r")])
            case 0..<0x20:
                bytes.append(contentsOf: "\\u00".utf8)
                bytes.append(Self.hexDigits[Int(byte >> 4)])
                bytes.append(Self.hexDigits[Int(byte & 15)])
            default: bytes.append(byte)
            }
        }
    }
}
