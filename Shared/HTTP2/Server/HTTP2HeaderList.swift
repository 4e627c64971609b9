import Glibc

/// The header fields of a received request, pseudo fields included, in one piece of memory.
package struct HTTP2HeaderList: Sendable {
    private struct Entry {
        var nameEnd: Int32
        var valueEnd: Int32
    }

    private var bytes: [UInt8] = []
    private var entries: [Entry] = []

    /// Value of the first field of that lowercase name, decoded as UTF-8.
    package subscript(_ name: String) -> String? {
        withBytes(of: name) { String(decoding: $0, as: UTF8.self) }
    }

    /// Lends the bytes of the first field of that lowercase name.
    package func withBytes<Result>(
        of name: String,
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result? {
        var name = name
        return name.withUTF8 { wanted in
            bytes.withUnsafeBufferPointer { all in
                var start = 0
                for entry in entries {
                    let nameEnd = Int(entry.nameEnd)
                    let end = Int(entry.valueEnd)
                    if Self.equal(all, start, nameEnd, wanted) {
                        return body(UnsafeBufferPointer(rebasing: all[nameEnd..<end]))
                    }
                    start = end
                }
                return nil
            }
        }
    }

    /// Whether the first field of that lowercase name has exactly that value.
    package func value(of name: String, equals value: [UInt8]) -> Bool {
        withBytes(of: name) { found in
            value.withUnsafeBufferPointer { Self.equal(found, 0, found.count, $0) }
        } ?? false
    }

    /// Whether more than one field bears that lowercase name.
    package func isRepeated(_ name: String) -> Bool {
        var name = name
        return name.withUTF8 { wanted in
            bytes.withUnsafeBufferPointer { all in
                var start = 0
                var found = 0
                for entry in entries {
                    let nameEnd = Int(entry.nameEnd)
                    if Self.equal(all, start, nameEnd, wanted) {
                        found += 1
                    }
                    start = Int(entry.valueEnd)
                }
                return found > 1
            }
        }
    }

    /// All fields in the order they came.
    package var fields: [(name: String, value: String)] {
        var start = 0
        return entries.map { entry in
            let nameEnd = Int(entry.nameEnd)
            let end = Int(entry.valueEnd)
            defer { start = end }
            return (
                String(decoding: bytes[start..<nameEnd], as: UTF8.self),
                String(decoding: bytes[nameEnd..<end], as: UTF8.self)
            )
        }
    }

    private static func equal(
        _ all: UnsafeBufferPointer<UInt8>,
        _ start: Int,
        _ end: Int,
        _ wanted: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        guard end - start == wanted.count else { return false }
        guard let left = all.baseAddress, let right = wanted.baseAddress else { return true }
        return memcmp(left + start, right, wanted.count) == 0
    }

    mutating func append(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
        bytes.append(contentsOf: name)
        let nameEnd = Int32(bytes.count)
        bytes.append(contentsOf: value)
        entries.append(Entry(nameEnd: nameEnd, valueEnd: Int32(bytes.count)))
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
    }
}
