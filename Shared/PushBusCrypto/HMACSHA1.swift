import COpenSSL

/// HMAC with SHA-1 (RFC 2104), which the one-time codes of RFC 6238 are made of; for nothing else.
package enum HMACSHA1 {
    /// The 20-byte code of the message under a key that is not empty.
    package static func code(for message: [UInt8], key: SecretBytes) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 20)
        var length: UInt32 = 0
        let made = key.withBytes { key in
            HMAC(
                EVP_sha1(),
                key.baseAddress,
                Int32(key.count),
                message,
                message.count,
                &code,
                &length
            )
        }
        precondition(made != nil && length == 20, "OpenSSL does not offer HMAC-SHA-1")
        return code
    }
}
