import COpenSSL
import Contracts

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// Length of a digest in bytes.
    package static let digestBytes = 32

    /// The 32-byte digest of the given bytes.
    package static func hash(_ bytes: some Collection<UInt8>) -> [UInt8] {
        withContiguousBytes(bytes) { hash($0) }
    }

    /// The 32-byte digest of the given memory.
    package static func hash(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: digestBytes)
        var length: UInt32 = 0
        let result = EVP_Digest(
            bytes.baseAddress,
            bytes.count,
            &digest,
            &length,
            Algorithms.sha256,
            nil
        )
        // Only a broken OpenSSL installation fails here, and a wrong digest must never go out.
        precondition(result == 1 && length == 32, "OpenSSL does not offer SHA-256")
        return digest
    }

    /// The digest of the UTF-8 text as 64 lowercase hex characters.
    package static func hex(_ text: String) -> String {
        Hex.encode(hash(text.utf8))
    }

    /// The digest of the bytes as 64 lowercase hex characters.
    package static func hex(_ bytes: some Collection<UInt8>) -> String {
        Hex.encode(hash(bytes))
    }
}

/// HMAC with SHA-256 (RFC 2104).
package enum HMACSHA256 {
    /// The 32-byte code of the message under the key.
    package static func code(
        for message: some Collection<UInt8>,
        key: some Collection<UInt8>
    ) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: SHA256.digestBytes)
        var length: UInt32 = 0
        let made = withContiguousBytes(key) { key in
            withContiguousBytes(message) { message in
                // An empty key has no address, and HMAC would take nil as "reuse the last key".
                withUnsafePointer(to: UInt8(0)) { empty in
                    HMAC(
                        Algorithms.sha256,
                        key.baseAddress ?? UnsafeRawPointer(empty),
                        Int32(key.count),
                        message.baseAddress?.assumingMemoryBound(to: UInt8.self),
                        message.count,
                        &code,
                        &length
                    )
                }
            }
        }
        precondition(made != nil && length == 32, "OpenSSL does not offer HMAC-SHA-256")
        return code
    }
}

/// Lends the collection as contiguous memory, copying it only when it is not contiguous.
func withContiguousBytes<R>(
    _ bytes: some Collection<UInt8>,
    _ body: (UnsafeRawBufferPointer) -> R
) -> R {
    let direct = bytes.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
    if let direct { return direct }
    return Array(bytes).withUnsafeBytes { body($0) }
}
