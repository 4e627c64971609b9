import CMsgpack
import Contracts
import Glibc

/// Decodes MessagePack; its nodes are those of libmsgpack and valid only inside ``read(_:_:)``.
package enum MessagePackReader: PackedReader {
    /// Decodes the one value that `bytes` hold and gives its root to `body`.
    ///
    /// Throws when the bytes are not exactly one value or go beyond the bounds of the bus; what
    /// `body` throws goes through.
    package static func read<Result>(
        _ bytes: [UInt8],
        _ body: (PackedValue) throws(ContractViolation) -> Result
    ) throws(ContractViolation) -> Result {
        // `withUnsafeBytes` has no typed throws here, hence the detour over a result value.
        let result = bytes.withUnsafeBytes { buffer -> Swift.Result<Result, ContractViolation> in
            do throws(ContractViolation) {
                try MessagePackScan.check(buffer)
                return .success(try decode(buffer, body))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private static func decode<Result>(
        _ buffer: UnsafeRawBufferPointer,
        _ body: (PackedValue) throws(ContractViolation) -> Result
    ) throws(ContractViolation) -> Result {
        var unpacked = msgpack_unpacked()
        msgpack_unpacked_init(&unpacked)
        defer { msgpack_unpacked_destroy(&unpacked) }
        var offset = 0
        let start = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
        let outcome = msgpack_unpack_next(&unpacked, start, buffer.count, &offset)
        guard outcome == MSGPACK_UNPACK_SUCCESS || outcome == MSGPACK_UNPACK_EXTRA_BYTES else {
            throw ContractViolation("", "is not MessagePack")
        }
        let root = UnsafeMutablePointer<msgpack_object>.allocate(capacity: 1)
        defer { root.deallocate() }
        root.initialize(to: unpacked.data)
        return try body(PackedValue(root, Self.self))
    }

    /// The node, which has to be of that type.
    private static func object(
        _ node: UnsafeRawPointer,
        _ type: msgpack_object_type,
        _ reason: @autoclosure () -> String
    ) throws(ContractViolation) -> UnsafePointer<msgpack_object> {
        let object = node.assumingMemoryBound(to: msgpack_object.self)
        guard object.pointee.type == type else { throw ContractViolation("", reason()) }
        return object
    }

    package static func field(
        _ name: StaticString,
        of node: UnsafeRawPointer
    ) throws(ContractViolation) -> UnsafeRawPointer? {
        let map = try object(node, MSGPACK_OBJECT_MAP, "must be a map").pointee.via.map
        guard let entries = map.ptr else { return nil }
        for index in 0..<Int(map.size) {
            let entry = UnsafePointer(entries + index)
            guard entry.pointee.key.type == MSGPACK_OBJECT_STR else { continue }
            let text = entry.pointee.key.via.str
            guard
                Int(text.size) == name.utf8CodeUnitCount,
                memcmp(text.ptr, name.utf8Start, name.utf8CodeUnitCount) == 0
            else { continue }
            guard let value = entry.pointer(to: \.val) else { return nil }
            return value.pointee.type == MSGPACK_OBJECT_NIL ? nil : UnsafeRawPointer(value)
        }
        return nil
    }

    package static func elements(
        of node: UnsafeRawPointer
    ) throws(ContractViolation) -> [UnsafeRawPointer] {
        let array = try object(node, MSGPACK_OBJECT_ARRAY, "must be an array").pointee.via.array
        guard let start = array.ptr else { return [] }
        return (0..<Int(array.size)).map { UnsafeRawPointer(start + $0) }
    }

    package static func integer(_ node: UnsafeRawPointer) throws(ContractViolation) -> Int64 {
        let object = node.assumingMemoryBound(to: msgpack_object.self)
        if object.pointee.type == MSGPACK_OBJECT_NEGATIVE_INTEGER { return object.pointee.via.i64 }
        guard
            object.pointee.type == MSGPACK_OBJECT_POSITIVE_INTEGER,
            let value = Int64(exactly: object.pointee.via.u64)
        else { throw ContractViolation("", "must be an integer of 64 bits with sign") }
        return value
    }

    package static func text(
        _ node: UnsafeRawPointer
    ) throws(ContractViolation) -> UnsafeRawBufferPointer {
        let text = try object(node, MSGPACK_OBJECT_STR, "must be text").pointee.via.str
        return UnsafeRawBufferPointer(start: text.ptr, count: Int(text.size))
    }

    package static func binary(
        _ node: UnsafeRawPointer
    ) throws(ContractViolation) -> UnsafeRawBufferPointer {
        let binary = try object(node, MSGPACK_OBJECT_BIN, "must be binary").pointee.via.bin
        return UnsafeRawBufferPointer(start: binary.ptr, count: Int(binary.size))
    }

    package static func flag(_ node: UnsafeRawPointer) throws(ContractViolation) -> Bool {
        try object(node, MSGPACK_OBJECT_BOOLEAN, "must be true or false").pointee.via.boolean
    }

    package static func entries(
        of node: UnsafeRawPointer
    ) throws(ContractViolation) -> [(key: UnsafeRawPointer, value: UnsafeRawPointer)] {
        let map = try object(node, MSGPACK_OBJECT_MAP, "must be a map").pointee.via.map
        guard let start = map.ptr else { return [] }
        return (0..<Int(map.size)).compactMap { index in
            let entry = UnsafePointer(start + index)
            guard let key = entry.pointer(to: \.key), let value = entry.pointer(to: \.val) else {
                return nil
            }
            return (UnsafeRawPointer(key), UnsafeRawPointer(value))
        }
    }
}
