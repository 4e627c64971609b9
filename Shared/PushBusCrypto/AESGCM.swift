import COpenSSL

/// AES-256-GCM (NIST SP 800-38D) with a 12-byte nonce and a 16-byte tag after the ciphertext.
package enum AESGCM {
    package static let keyBytes = 32
    package static let nonceBytes = 12
    package static let tagBytes = 16

    /// Encrypts and authenticates; the result is the ciphertext followed by the tag.
    package static func seal(
        _ plaintext: [UInt8],
        key: [UInt8],
        nonce: [UInt8],
        authenticating associated: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        try checkSizes(key: key, nonce: nonce)
        let context = try CipherContext()
        try check(
            EVP_EncryptInit_ex(context.pointer, Algorithms.aes256GCM, nil, key, nonce),
            "AES-256-GCM set-up"
        )
        var length: Int32 = 0
        try check(
            EVP_EncryptUpdate(context.pointer, nil, &length, associated, Int32(associated.count)),
            "AES-256-GCM associated data"
        )
        var sealed = [UInt8](repeating: 0, count: plaintext.count + tagBytes)
        try check(
            EVP_EncryptUpdate(context.pointer, &sealed, &length, plaintext, Int32(plaintext.count)),
            "AES-256-GCM encryption"
        )
        var finalLength: Int32 = 0
        var tag = [UInt8](repeating: 0, count: tagBytes)
        try check(
            EVP_EncryptFinal_ex(context.pointer, &tag, &finalLength),
            "AES-256-GCM completion"
        )
        try check(
            EVP_CIPHER_CTX_ctrl(context.pointer, EVP_CTRL_AEAD_GET_TAG, Int32(tagBytes), &tag),
            "AES-256-GCM tag"
        )
        sealed.replaceSubrange(plaintext.count..., with: tag)
        return sealed
    }

    /// Verifies and decrypts; fails with ``CryptoError/Code/authenticationFailed`` and no bytes
    /// when key, nonce, associated data, ciphertext or tag differ from those at sealing.
    package static func open(
        _ sealed: [UInt8],
        key: [UInt8],
        nonce: [UInt8],
        authenticating associated: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        try checkSizes(key: key, nonce: nonce)
        guard sealed.count >= tagBytes else {
            throw CryptoError(.invalidInput, "the ciphertext is shorter than its 16-byte tag")
        }
        let context = try CipherContext()
        try check(
            EVP_DecryptInit_ex(context.pointer, Algorithms.aes256GCM, nil, key, nonce),
            "AES-256-GCM set-up"
        )
        let bodyBytes = sealed.count - tagBytes
        var length: Int32 = 0
        try check(
            EVP_DecryptUpdate(context.pointer, nil, &length, associated, Int32(associated.count)),
            "AES-256-GCM associated data"
        )
        var plaintext = [UInt8](repeating: 0, count: bodyBytes)
        try check(
            EVP_DecryptUpdate(context.pointer, &plaintext, &length, sealed, Int32(bodyBytes)),
            "AES-256-GCM decryption"
        )
        var tag = Array(sealed[bodyBytes...])
        try check(
            EVP_CIPHER_CTX_ctrl(context.pointer, EVP_CTRL_AEAD_SET_TAG, Int32(tagBytes), &tag),
            "AES-256-GCM tag"
        )
        var finalLength: Int32 = 0
        var nothing: UInt8 = 0
        guard EVP_DecryptFinal_ex(context.pointer, &nothing, &finalLength) == 1 else {
            ERR_clear_error()
            wipe(&plaintext)
            throw CryptoError(
                .authenticationFailed,
                "the message was changed, or key, nonce or identity are not those it was sealed with"
            )
        }
        return plaintext
    }

    private static func checkSizes(key: [UInt8], nonce: [UInt8]) throws(CryptoError) {
        guard key.count == keyBytes else {
            throw CryptoError(.invalidKey, "the key has \(key.count) bytes, 32 are needed")
        }
        guard nonce.count == nonceBytes else {
            throw CryptoError(.invalidInput, "the nonce has \(nonce.count) bytes, 12 are needed")
        }
    }
}

/// Owns one EVP_CIPHER_CTX; freeing it wipes the expanded key.
private struct CipherContext: ~Copyable {
    let pointer: OpaquePointer

    init() throws(CryptoError) {
        pointer = try check(EVP_CIPHER_CTX_new(), "cipher context")
    }

    deinit { EVP_CIPHER_CTX_free(pointer) }
}
