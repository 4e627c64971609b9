import COpenSSL

/// A P-256 public key that verifies ES256 signatures.
package final class ES256PublicKey: Sendable {
    private let key: PKey

    init(_ key: PKey) { self.key = key }

    /// Reads a public key (SubjectPublicKeyInfo) in PEM form.
    package convenience init(pem: [UInt8]) throws(CryptoError) {
        let bio = try MemoryBIO.holding(pem)
        guard let pointer = PEM_read_bio_PUBKEY(bio.pointer, nil, nil, nil) else {
            ERR_clear_error()
            throw CryptoError(.invalidKey, "no public key in PEM form found")
        }
        let key = PKey(owning: pointer)
        guard key.isP256 else {
            throw CryptoError(.invalidKey, "the public key is not on the curve P-256")
        }
        self.init(key)
    }

    /// The key (SubjectPublicKeyInfo) in PEM form.
    package func pem() throws(CryptoError) -> [UInt8] {
        let bio = try MemoryBIO()
        try key.withPointer { (key) throws(CryptoError) in
            try check(PEM_write_bio_PUBKEY(bio.pointer, key), "writing the public key")
        }
        return bio.contents()
    }

    /// Whether the signature, 64 bytes of R and S or ASN.1 DER, belongs to the message.
    package func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        if signature.count == ECDSASignature.rawBytes,
            let der = try? ECDSASignature(raw: signature).der,
            verifyDER(der, of: message)
        {
            return true
        }
        return verifyDER(signature, of: message)
    }

    private func verifyDER(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let context = try? DigestContext() else { return false }
        defer { ERR_clear_error() }
        return key.withPointer { key in
            EVP_DigestVerifyInit(context.pointer, nil, EVP_sha256(), nil, key) == 1
                && EVP_DigestVerify(
                    context.pointer,
                    signature,
                    signature.count,
                    message,
                    message.count
                ) == 1
        }
    }
}

/// One ECDSA signature on P-256 in either of its two encodings.
package struct ECDSASignature: Hashable, Sendable {
    /// Length of R and S together.
    package static let rawBytes = 64
    private static let halfBytes: Int32 = 32

    /// R and S, big endian, 32 bytes each (RFC 7518 section 3.4).
    package let raw: [UInt8]

    /// Takes 64 bytes of R and S.
    package init(raw: [UInt8]) throws(CryptoError) {
        guard raw.count == Self.rawBytes else {
            throw CryptoError(.invalidInput, "a raw P-256 signature has 64 bytes")
        }
        self.raw = raw
    }

    /// Takes the ASN.1 DER form.
    package init(der: [UInt8]) throws(CryptoError) {
        let parsed = der.withUnsafeBufferPointer { buffer in
            var next = buffer.baseAddress
            let signature = d2i_ECDSA_SIG(nil, &next, buffer.count)
            let consumed = next.map { $0 - (buffer.baseAddress ?? $0) } ?? 0
            return (signature: signature, consumed: consumed)
        }
        guard let signature = parsed.signature else {
            ERR_clear_error()
            throw CryptoError(.invalidInput, "the signature is not in ASN.1 DER form")
        }
        defer { ECDSA_SIG_free(signature) }
        guard parsed.consumed == der.count else {
            throw CryptoError(.invalidInput, "bytes follow the ASN.1 DER signature")
        }
        var bytes = [UInt8](repeating: 0, count: Self.rawBytes)
        let fits = bytes.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return false }
            return BN_bn2binpad(ECDSA_SIG_get0_r(signature), base, Self.halfBytes) == Self.halfBytes
                && BN_bn2binpad(
                    ECDSA_SIG_get0_s(signature),
                    base + Int(Self.halfBytes),
                    Self.halfBytes
                ) == Self.halfBytes
        }
        guard fits else {
            ERR_clear_error()
            throw CryptoError(.invalidInput, "the signature is not one of the curve P-256")
        }
        raw = bytes
    }

    /// The ASN.1 DER form.
    package var der: [UInt8] {
        get throws(CryptoError) {
            let signature = try check(ECDSA_SIG_new(), "signature")
            defer { ECDSA_SIG_free(signature) }
            let r = BN_bin2bn(Array(raw.prefix(32)), Self.halfBytes, nil)
            let s = BN_bin2bn(Array(raw.suffix(32)), Self.halfBytes, nil)
            guard let r, let s, ECDSA_SIG_set0(signature, r, s) == 1 else {
                BN_free(r)
                BN_free(s)
                throw libraryFailure("signature")
            }
            var text = [UInt8](repeating: 0, count: 80)
            let length = text.withUnsafeMutableBufferPointer { buffer in
                var next = buffer.baseAddress
                return i2d_ECDSA_SIG(signature, &next)
            }
            guard length > 0 else { throw libraryFailure("signature") }
            return Array(text.prefix(Int(length)))
        }
    }
}
