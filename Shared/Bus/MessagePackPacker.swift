import CMsgpack
import Contracts

/// Writes MessagePack into memory that libmsgpack grows.
package struct MessagePackPacker: Packer {
    private let buffer = Buffer()

    package init() {}

    /// What has been written so far.
    package var bytes: [UInt8] { buffer.bytes }

    package mutating func beginMap(fields count: Int) {
        msgpack_pack_map(buffer.packer, count)
    }

    package mutating func beginArray(elements count: Int) {
        msgpack_pack_array(buffer.packer, count)
    }

    package mutating func key(_ name: StaticString) {
        msgpack_pack_str(buffer.packer, name.utf8CodeUnitCount)
        msgpack_pack_str_body(buffer.packer, name.utf8Start, name.utf8CodeUnitCount)
    }

    package mutating func integer(_ value: Int64) {
        msgpack_pack_int64(buffer.packer, value)
    }

    package mutating func text(_ value: String) {
        var value = value
        value.withUTF8 { bytes in
            msgpack_pack_str(buffer.packer, bytes.count)
            if let start = bytes.baseAddress {
                msgpack_pack_str_body(buffer.packer, start, bytes.count)
            }
        }
    }

    package mutating func binary(_ value: [UInt8]) {
        msgpack_pack_bin(buffer.packer, value.count)
        value.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress {
                msgpack_pack_bin_body(buffer.packer, start, bytes.count)
            }
        }
    }

    package mutating func flag(_ value: Bool) {
        if value {
            msgpack_pack_true(buffer.packer)
        } else {
            msgpack_pack_false(buffer.packer)
        }
    }

    /// Owns the C buffer and the packer that points at it.
    private final class Buffer {
        private let storage: UnsafeMutablePointer<msgpack_sbuffer>
        let packer: UnsafeMutablePointer<msgpack_packer>

        init() {
            storage = .allocate(capacity: 1)
            storage.initialize(to: msgpack_sbuffer())
            packer = .allocate(capacity: 1)
            packer.initialize(to: msgpack_packer(data: storage, callback: msgpack_sbuffer_write))
        }

        deinit {
            msgpack_sbuffer_destroy(storage)
            storage.deallocate()
            packer.deallocate()
        }

        var bytes: [UInt8] {
            guard let data = storage.pointee.data else { return [] }
            return [UInt8](UnsafeRawBufferPointer(start: data, count: storage.pointee.size))
        }
    }
}
