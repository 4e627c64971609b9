import COpenSSL

/// Secret bytes that are wiped when the last owner lets go and never print.
package final class SecretBytes: Sendable, CustomStringConvertible, CustomReflectable {
    private let storage: Storage

    // Proof: the buffer is written once in init and wiped in deinit, when no other reference
    // exists; in between it is only read.
    private struct Storage: @unchecked Sendable {
        let buffer: UnsafeMutableRawBufferPointer
    }

    /// Copies the bytes; the caller wipes its own copy.
    package init(_ bytes: some Collection<UInt8>) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        buffer.copyBytes(from: bytes)
        storage = Storage(buffer: buffer)
    }

    deinit {
        OPENSSL_cleanse(storage.buffer.baseAddress, storage.buffer.count)
        storage.buffer.deallocate()
    }

    package var count: Int { storage.buffer.count }

    /// Lends the bytes; they must not be kept.
    package func withBytes<R, E>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try body(UnsafeRawBufferPointer(storage.buffer))
    }

    package var description: String { "‹redacted›" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
