import COpenSSL

/// Owns one EVP_PKEY.
final class PKey: Sendable {
    // Proof: the key is complete before init returns and only used for reading afterwards, which
    // OpenSSL allows from several threads at once (openssl-threads(7)).
    private struct Handle: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private let handle: Handle

    /// Takes over the reference.
    init(owning pointer: OpaquePointer) { handle = Handle(pointer: pointer) }

    deinit { EVP_PKEY_free(handle.pointer) }

    /// Lends the C object; it must not be kept.
    func withPointer<R, E>(_ body: (OpaquePointer) throws(E) -> R) throws(E) -> R {
        try body(handle.pointer)
    }

    /// Whether this is an elliptic-curve key on P-256 (prime256v1).
    var isP256: Bool {
        withPointer { key in
            guard EVP_PKEY_get_base_id(key) == EVP_PKEY_EC else { return false }
            var name = [CChar](repeating: 0, count: 64)
            var length = 0
            guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else {
                ERR_clear_error()
                return false
            }
            let text = name.prefix(length).map(UInt8.init(bitPattern:))
            return String(decoding: text, as: UTF8.self) == "prime256v1"
        }
    }

    /// A new key pair on P-256.
    static func generateP256() throws(CryptoError) -> PKey {
        let context = try check(EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil), "key generation")
        defer { EVP_PKEY_CTX_free(context) }
        try check(EVP_PKEY_keygen_init(context), "key generation")
        try check(
            EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1),
            "choice of the curve P-256"
        )
        var key: OpaquePointer?
        try check(EVP_PKEY_generate(context, &key), "key generation")
        return PKey(owning: try check(key, "key generation"))
    }
}

/// Owns one memory BIO.
struct MemoryBIO: ~Copyable {
    let pointer: OpaquePointer

    /// An empty BIO to write into.
    init() throws(CryptoError) {
        pointer = try check(BIO_new(BIO_s_mem()), "memory buffer")
    }

    /// A BIO that holds a copy of the bytes.
    static func holding(_ bytes: [UInt8]) throws(CryptoError) -> MemoryBIO {
        let bio = try MemoryBIO()
        let written = BIO_write(bio.pointer, bytes, Int32(bytes.count))
        guard Int(written) == bytes.count else { throw libraryFailure("memory buffer") }
        return bio
    }

    deinit { BIO_free(pointer) }

    /// Everything written so far.
    func contents() -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1024)
        defer { wipe(&part) }
        while true {
            let got = BIO_read(pointer, &part, Int32(part.count))
            guard got > 0 else { return bytes }
            bytes.append(contentsOf: part.prefix(Int(got)))
        }
    }
}
