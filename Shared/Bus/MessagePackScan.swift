import Contracts

/// Walks MessagePack bytes without building anything, so that no declared count or length can
/// make the decoder reserve more than the message is long.
struct MessagePackScan {
    /// Deepest nesting of maps and arrays that any contract needs, with room to grow.
    static let maximumDepth = 16
    /// Most values of one message: 512 records of 64 fields, keys and values.
    static let maximumValues = 65_536

    private let bytes: UnsafeRawBufferPointer
    private var index = 0
    private var values = 0

    private init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Throws unless the bytes are exactly one well-formed value within the bounds.
    static func check(_ bytes: UnsafeRawBufferPointer) throws(ContractViolation) {
        var scan = MessagePackScan(bytes)
        try scan.value(depth: 0)
        guard scan.index == bytes.count else {
            throw ContractViolation("", "has bytes after the end of its MessagePack value")
        }
    }

    private mutating func value(depth: Int) throws(ContractViolation) {
        values += 1
        guard values <= Self.maximumValues else {
            throw ContractViolation("", "holds more than \(Self.maximumValues) values")
        }
        let tag = UInt8(try length(bytes: 1))
        switch tag {
        case 0x00...0x7f, 0xe0...0xff, 0xc0, 0xc2, 0xc3: return
        case 0x80...0x8f: try nested(2 * Int(tag & 0x0f), depth)
        case 0x90...0x9f: try nested(Int(tag & 0x0f), depth)
        case 0xa0...0xbf: try skip(Int(tag & 0x1f))
        case 0xc4, 0xd9: try skip(try length(bytes: 1))
        case 0xc5, 0xda: try skip(try length(bytes: 2))
        case 0xc6, 0xdb: try skip(try length(bytes: 4))
        case 0xcc, 0xd0: try skip(1)
        case 0xcd, 0xd1: try skip(2)
        case 0xca, 0xce, 0xd2: try skip(4)
        case 0xcb, 0xcf, 0xd3: try skip(8)
        case 0xdc: try nested(try length(bytes: 2), depth)
        case 0xdd: try nested(try length(bytes: 4), depth)
        case 0xde: try nested(2 * (try length(bytes: 2)), depth)
        case 0xdf: try nested(2 * (try length(bytes: 4)), depth)
        default:
            throw ContractViolation("", "holds a MessagePack extension, which no contract uses")
        }
    }

    private mutating func nested(_ count: Int, _ depth: Int) throws(ContractViolation) {
        guard depth < Self.maximumDepth else {
            throw ContractViolation("", "is nested deeper than \(Self.maximumDepth) levels")
        }
        guard count <= bytes.count - index else { throw Self.truncated }
        for _ in 0..<count { try value(depth: depth + 1) }
    }

    private mutating func skip(_ count: Int) throws(ContractViolation) {
        guard count <= bytes.count - index else { throw Self.truncated }
        index += count
    }

    private mutating func length(bytes width: Int) throws(ContractViolation) -> Int {
        guard width <= bytes.count - index else { throw Self.truncated }
        var length = 0
        for _ in 0..<width {
            length = length << 8 | Int(bytes[index])
            index += 1
        }
        return length
    }

    private static let truncated = ContractViolation(
        "",
        "ends in the middle of a MessagePack value"
    )
}
