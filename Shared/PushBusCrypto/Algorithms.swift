import COpenSSL

/// Algorithms of OpenSSL, looked up once: given by its older functions they are looked up again,
/// under locks of the process, at each use.
enum Algorithms {
    // Never changed and never freed; nil where the installation offers none, and then every use fails.
    nonisolated(unsafe) static let sha256 = EVP_MD_fetch(nil, "SHA256", nil)
    nonisolated(unsafe) static let aes256GCM = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)
}
