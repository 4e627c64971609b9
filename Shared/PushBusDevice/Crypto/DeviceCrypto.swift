#if canImport(CryptoKit)
import CryptoKit
#else
import PushBusCrypto
#endif

/// The seam to the platform's cryptography: CryptoKit where it exists, OpenSSL elsewhere. No other
/// file of this module knows which one it is.
///
/// The CryptoKit side is three calls. It is not compiled on Linux; a test checks its types against the
/// signatures that Apple documents, and the contract of the seam on OpenSSL.
enum DeviceCrypto {
    /// The bytes were changed, or the key, nonce or associated data are not those of the sealing.
    struct Refused: Error {}

    static let keyBytes = 32
    static let nonceBytes = 12
    static let tagBytes = 16

    /// SHA-256 (FIPS 180-4), 32 bytes.
    static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        #if canImport(CryptoKit)
        Array(CryptoKit.SHA256.hash(data: bytes))
        #else
        PushBusCrypto.SHA256.hash(bytes)
        #endif
    }

    /// Opens AES-256-GCM; `sealed` is the ciphertext followed by the 16-byte tag. Other lengths of key
    /// and nonce than 32 and 12 bytes are refused, though a platform may take some.
    static func open(
        _ sealed: [UInt8],
        key: [UInt8],
        nonce: [UInt8],
        authenticating associated: [UInt8]
    ) throws(Refused) -> [UInt8] {
        guard sealed.count >= tagBytes, key.count == keyBytes, nonce.count == nonceBytes else {
            throw Refused()
        }
        do {
            #if canImport(CryptoKit)
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: nonce),
                ciphertext: sealed.dropLast(tagBytes),
                tag: sealed.suffix(tagBytes)
            )
            let opened = try AES.GCM.open(
                box,
                using: SymmetricKey(data: key),
                authenticating: associated
            )
            return Array(opened)
            #else
            return try AESGCM.open(sealed, key: key, nonce: nonce, authenticating: associated)
            #endif
        } catch {
            throw Refused()
        }
    }
}
