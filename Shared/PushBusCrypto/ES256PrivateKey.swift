import COpenSSL

/// A P-256 private key for ES256 signatures (RFC 7518 section 3.4); never prints.
package final class ES256PrivateKey: Sendable, CustomStringConvertible, CustomReflectable {
    let key: PKey

    private init(_ key: PKey) { self.key = key }

    /// Makes a new key pair.
    package static func generate() throws(CryptoError) -> ES256PrivateKey {
        ES256PrivateKey(try PKey.generateP256())
    }

    /// Reads an unencrypted private key in PEM form, PKCS#8 as Apple hands it out.
    ///
    /// Fails with ``CryptoError/Code/invalidKey`` for anything that is not a P-256 private key.
    package convenience init(pem: SecretBytes) throws(CryptoError) {
        guard (1...16_384).contains(pem.count) else {
            throw CryptoError(.invalidKey, "a PEM private key of 1 to 16384 bytes is needed")
        }
        var copy = pem.withBytes { Array($0) }
        defer { wipe(&copy) }
        let bio = try MemoryBIO.holding(copy)
        // The callback refuses to ask for a passphrase on a terminal.
        let pointer = PEM_read_bio_PrivateKey(bio.pointer, nil, refusePassphrase, nil)
        guard let pointer else {
            ERR_clear_error()
            throw CryptoError(
                .invalidKey,
                "no unencrypted PKCS#8 private key found: pass the contents of Apple's .p8 file"
            )
        }
        let key = PKey(owning: pointer)
        guard key.isP256 else {
            throw CryptoError(.invalidKey, "the private key is not on the curve P-256")
        }
        self.init(key)
    }

    /// The key in PKCS#8 PEM form.
    package func pem() throws(CryptoError) -> SecretBytes {
        let bio = try MemoryBIO()
        try key.withPointer { (key) throws(CryptoError) in
            try check(
                PEM_write_bio_PKCS8PrivateKey(bio.pointer, key, nil, nil, 0, nil, nil),
                "writing the private key"
            )
        }
        var bytes = bio.contents()
        defer { wipe(&bytes) }
        return SecretBytes(bytes)
    }

    /// The matching public key.
    package var publicKey: ES256PublicKey { ES256PublicKey(key) }

    /// Signs the message with ECDSA over SHA-256; the result is R and S, 32 bytes each.
    package func sign(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
        try ECDSASignature(der: signDER(message)).raw
    }

    /// Signs the message; the result is in ASN.1 DER form, as X.509 and Apple's sample token use it.
    package func signDER(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
        let context = try DigestContext()
        return try key.withPointer { (key) throws(CryptoError) in
            try check(
                EVP_DigestSignInit(context.pointer, nil, EVP_sha256(), nil, key),
                "ES256 set-up"
            )
            var length = 128
            var signature = [UInt8](repeating: 0, count: length)
            try check(
                EVP_DigestSign(context.pointer, &signature, &length, message, message.count),
                "ES256 signature"
            )
            return Array(signature.prefix(length))
        }
    }

    package var description: String { "‹redacted›" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Answers OpenSSL's question for a passphrase with "none".
private func refusePassphrase(
    _: UnsafeMutablePointer<CChar>?,
    _: Int32,
    _: Int32,
    _: UnsafeMutableRawPointer?
) -> Int32 { -1 }

/// Owns one EVP_MD_CTX.
struct DigestContext: ~Copyable {
    let pointer: OpaquePointer

    init() throws(CryptoError) {
        pointer = try check(EVP_MD_CTX_new(), "digest context")
    }

    deinit { EVP_MD_CTX_free(pointer) }
}
