import Contracts
import PushBusCrypto
import RegistrationCore

/// Seals with one master key: a nonce, followed by ciphertext and tag of AES-256-GCM.
package struct Sealer: Sendable {
    private let key: SecretBytes
    private let nonce: @Sendable () -> [UInt8]

    init(key: SecretBytes, nonce: @escaping @Sendable () -> [UInt8]) {
        self.key = key
        self.nonce = nonce
    }

    /// Bound to the installation and the key's id.
    package func seal(
        _ key: ContentKey,
        id: KeyID,
        of installation: InstallationID
    ) throws(CryptoError) -> Blob {
        try seal(key.bytes, Self.context(id, installation))
    }

    /// Seals the secret of an account's one-time codes; bound to the account's name, which stays.
    package func seal(
        secret: SecretBytes,
        of username: String
    ) throws(CryptoError) -> Blob {
        try seal(secret.withBytes { Array($0) }, Self.context(username))
    }

    func seal(_ bytes: [UInt8], _ context: [UInt8]) throws(CryptoError) -> Blob {
        let nonce = nonce()
        let sealed = try key.withBytes { key throws(CryptoError) in
            try AESGCM.seal(bytes, key: Array(key), nonce: nonce, authenticating: context)
        }
        return Blob(nonce + sealed)
    }

    static func open(_ sealed: Blob, _ key: SecretBytes, _ context: [UInt8]) -> [UInt8]? {
        let nonce = Array(sealed.bytes.prefix(AESGCM.nonceBytes))
        let rest = Array(sealed.bytes.dropFirst(AESGCM.nonceBytes))
        return key.withBytes { key in
            try? AESGCM.open(rest, key: Array(key), nonce: nonce, authenticating: context)
        }
    }

    static func context(_ id: KeyID, _ installation: InstallationID) -> [UInt8] {
        var context = Array("PushBus.ContentKey.v1|".utf8)
        context += id.description.utf8
        context.append(UInt8(ascii: "|"))
        context += installation.text.utf8
        return context
    }

    static func context(_ username: String) -> [UInt8] {
        Array("PushBus.TOTP.v1|\(username)".utf8)
    }
}
