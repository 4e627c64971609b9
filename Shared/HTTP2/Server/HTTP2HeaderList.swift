import Glibc

/// The header fields of a received request, pseudo fields included, in one piece of memory.
package struct HTTP2HeaderList: Sendable {
    struct Entry {
        var nameEnd: Int32
        var valueEnd: Int32
    }

    private var bytes: [UInt8] = []
    private var entries: [Entry] = []

    /// Value of the first field of that lowercase name, decoded as UTF-8.
    package subscript(_ name: String) -> String? {
        var name = name
        return name.withUTF8 { wanted in
            var found: String?
            forEach { name, value in
                if found == nil, name.isEqual(to: wanted) {
                    found = String(decoding: value, as: UTF8.self)
                }
            }
            return found
        }
    }

    /// Lends name and value of each field, in the order they came.
    package func forEach(
        _ body: (_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Void
    ) {
        withFields { $0.forEach(body) }
    }

    /// Lends all fields; what the closure is given must not outlive it.
    package func withFields(_ body: (Fields) -> Void) {
        bytes.withUnsafeBufferPointer { bytes in
            entries.withUnsafeBufferPointer { entries in
                body(Fields(bytes: bytes, entries: entries))
            }
        }
    }

    /// All fields in the order they came.
    package var fields: [(name: String, value: String)] {
        var all: [(name: String, value: String)] = []
        forEach { name, value in
            all.append(
                (String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
            )
        }
        return all
    }

    /// A view of the fields of a request, lent by `withFields`.
    package struct Fields {
        fileprivate let bytes: UnsafeBufferPointer<UInt8>
        fileprivate let entries: UnsafeBufferPointer<Entry>

        package func forEach(
            _ body: (
                _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
            ) -> Void
        ) {
            var start = 0
            for entry in entries {
                let nameEnd = Int(entry.nameEnd)
                let end = Int(entry.valueEnd)
                body(
                    UnsafeBufferPointer(rebasing: bytes[start..<nameEnd]),
                    UnsafeBufferPointer(rebasing: bytes[nameEnd..<end])
                )
                start = end
            }
        }
    }

    /// Takes over what a header block brought.
    mutating func assign(_ block: HTTP2HeaderBlock) {
        bytes.append(contentsOf: block.bytes)
        entries.append(contentsOf: block.entries)
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether both hold the same bytes.
    package func isEqual(to other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count == other.count else { return false }
        guard let left = baseAddress, let right = other.baseAddress else { return true }
        return memcmp(left, right, count) == 0
    }
}

/// The fields of the header block that is being received; a block is never interrupted by another
/// one (RFC 9113 section 4.3), so that a connection needs one.
final class HTTP2HeaderBlock {
    /// Most bytes of names and values of one block: a few bytes of HPACK can mean many.
    static let maximumBytes = 65_536
    /// Most fields of one block.
    static let maximumFields = 256

    private let memory: UnsafeMutablePointer<UInt8>
    private let places: UnsafeMutablePointer<HTTP2HeaderList.Entry>
    private var used = 0
    private var count = 0

    init() {
        memory = .allocate(capacity: Self.maximumBytes)
        places = .allocate(capacity: Self.maximumFields)
    }

    deinit {
        memory.deallocate()
        places.deallocate()
    }

    var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: memory, count: used) }
    var entries: UnsafeBufferPointer<HTTP2HeaderList.Entry> {
        UnsafeBufferPointer(start: places, count: count)
    }

    func restart() {
        used = 0
        count = 0
    }

    /// Adds a field; false when the block is larger than anybody needs.
    @inline(__always)
    func append(
        _ name: UnsafePointer<UInt8>,
        _ nameLength: Int,
        _ value: UnsafePointer<UInt8>,
        _ valueLength: Int
    ) -> Bool {
        guard count < Self.maximumFields, nameLength + valueLength <= Self.maximumBytes - used
        else { return false }
        memcpy(memory + used, name, nameLength)
        memcpy(memory + used + nameLength, value, valueLength)
        let nameEnd = used + nameLength
        used = nameEnd + valueLength
        (places + count).initialize(
            to: HTTP2HeaderList.Entry(nameEnd: Int32(nameEnd), valueEnd: Int32(used))
        )
        count += 1
        return true
    }
}
