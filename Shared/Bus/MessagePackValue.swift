import CMsgpack
import Contracts
import Glibc

/// One node of a decoded MessagePack message; valid only inside ``MessagePackValue/read(_:_:)``.
package struct MessagePackValue: PackedValue {
    private let object: UnsafePointer<msgpack_object>

    private init(_ object: UnsafePointer<msgpack_object>) { self.object = object }

    /// Decodes the one value that `bytes` hold and gives its root to `body`.
    ///
    /// Throws when the bytes are not exactly one value or go beyond the bounds of the bus; what
    /// `body` throws goes through.
    package static func read<Result>(
        _ bytes: [UInt8],
        _ body: (MessagePackValue) throws(ContractViolation) -> Result
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
        _ body: (MessagePackValue) throws(ContractViolation) -> Result
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
        return try body(MessagePackValue(UnsafePointer(root)))
    }

    private func isOf(_ type: msgpack_object_type) -> Bool { object.pointee.type == type }

    package func field(_ name: StaticString) throws(ContractViolation) -> MessagePackValue? {
        guard isOf(MSGPACK_OBJECT_MAP) else { throw ContractViolation("", "must be a map") }
        let map = object.pointee.via.map
        guard let entries = map.ptr else { return nil }
        for index in 0..<Int(map.size) {
            let key = UnsafePointer(entries + index).pointer(to: \.key)
            guard let key, key.pointee.type == MSGPACK_OBJECT_STR else { continue }
            let text = key.pointee.via.str
            guard
                Int(text.size) == name.utf8CodeUnitCount,
                memcmp(text.ptr, name.utf8Start, name.utf8CodeUnitCount) == 0
            else { continue }
            guard let value = UnsafePointer(entries + index).pointer(to: \.val) else { return nil }
            return value.pointee.type == MSGPACK_OBJECT_NIL ? nil : MessagePackValue(value)
        }
        return nil
    }

    package func elements() throws(ContractViolation) -> [MessagePackValue] {
        guard isOf(MSGPACK_OBJECT_ARRAY) else { throw ContractViolation("", "must be an array") }
        let array = object.pointee.via.array
        guard let start = array.ptr else { return [] }
        return (0..<Int(array.size)).map { MessagePackValue(UnsafePointer(start + $0)) }
    }

    package func integer() throws(ContractViolation) -> Int64 {
        if isOf(MSGPACK_OBJECT_NEGATIVE_INTEGER) { return object.pointee.via.i64 }
        guard
            isOf(MSGPACK_OBJECT_POSITIVE_INTEGER),
            let value = Int64(exactly: object.pointee.via.u64)
        else { throw ContractViolation("", "must be an integer of 64 bits with sign") }
        return value
    }

    package func text() throws(ContractViolation) -> String {
        guard isOf(MSGPACK_OBJECT_STR) else { throw ContractViolation("", "must be text") }
        let text = object.pointee.via.str
        let bytes = UnsafeRawBufferPointer(start: text.ptr, count: Int(text.size))
        guard let string = String(validating: bytes, as: UTF8.self) else {
            throw ContractViolation("", "must be UTF-8")
        }
        return string
    }

    package func binary() throws(ContractViolation) -> [UInt8] {
        guard isOf(MSGPACK_OBJECT_BIN) else { throw ContractViolation("", "must be binary") }
        let binary = object.pointee.via.bin
        return [UInt8](UnsafeRawBufferPointer(start: binary.ptr, count: Int(binary.size)))
    }

    package func flag() throws(ContractViolation) -> Bool {
        guard isOf(MSGPACK_OBJECT_BOOLEAN) else {
            throw ContractViolation("", "must be true or false")
        }
        return object.pointee.via.boolean
    }

    package func entries() throws(ContractViolation) -> [(key: String, value: MessagePackValue)] {
        guard isOf(MSGPACK_OBJECT_MAP) else { throw ContractViolation("", "must be a map") }
        let map = object.pointee.via.map
        var entries: [(key: String, value: MessagePackValue)] = []
        guard let start = map.ptr else { return entries }
        for index in 0..<Int(map.size) {
            let entry = UnsafePointer(start + index)
            guard let key = entry.pointer(to: \.key), let value = entry.pointer(to: \.val) else {
                continue
            }
            entries.append((try MessagePackValue(key).text(), MessagePackValue(value)))
        }
        return entries
    }
}
