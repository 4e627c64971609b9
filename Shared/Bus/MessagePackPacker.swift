import CMsgpack
import Contracts

/// Writes MessagePack into memory that libmsgpack grows.
package final class MessagePackPacker: Packer {
    private let buffer: UnsafeMutablePointer<msgpack_sbuffer>
    private let packer: UnsafeMutablePointer<msgpack_packer>

    package init() {
        buffer = .allocate(capacity: 1)
        buffer.initialize(to: msgpack_sbuffer())
        packer = .allocate(capacity: 1)
        packer.initialize(to: msgpack_packer(data: buffer, callback: msgpack_sbuffer_write))
    }

    deinit {
        msgpack_sbuffer_destroy(buffer)
        buffer.deallocate()
        packer.deallocate()
    }

    /// What has been written so far.
    package var bytes: [UInt8] {
        guard let data = buffer.pointee.data else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: data, count: buffer.pointee.size))
    }

    package func beginMap(fields count: Int) {
        msgpack_pack_map(packer, count)
    }

    package func beginArray(elements count: Int) {
        msgpack_pack_array(packer, count)
    }

    package func key(_ name: StaticString) {
        msgpack_pack_str(packer, name.utf8CodeUnitCount)
        msgpack_pack_str_body(packer, name.utf8Start, name.utf8CodeUnitCount)
    }

    package func integer(_ value: Int64) {
        msgpack_pack_int64(packer, value)
    }

    package func text(_ value: String) {
        var value = value
        value.withUTF8 { bytes in
            msgpack_pack_str(packer, bytes.count)
            if let start = bytes.baseAddress {
                msgpack_pack_str_body(packer, start, bytes.count)
            }
        }
    }

    package func binary(_ value: [UInt8]) {
        msgpack_pack_bin(packer, value.count)
        value.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress {
                msgpack_pack_bin_body(packer, start, bytes.count)
            }
        }
    }

    package func flag(_ value: Bool) {
        if value {
            msgpack_pack_true(packer)
        } else {
            msgpack_pack_false(packer)
        }
    }
}
