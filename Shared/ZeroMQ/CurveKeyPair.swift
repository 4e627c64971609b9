import CZMQ

/// The public half of a CURVE key; its Z85 text of 40 characters names a peer.
package struct CurvePublicKey: Hashable, Sendable, CustomStringConvertible {
    /// 32 bytes.
    package let bytes: [UInt8]

    /// Takes exactly 32 bytes.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        self.bytes = bytes
    }

    /// Takes the 40 characters of Z85 (ZeroMQ RFC 32).
    package init?(z85 text: String) {
        guard let bytes = Z85.decode(text) else { return nil }
        self.bytes = bytes
    }

    package var z85: String { Z85.encode(bytes) }
    package var description: String { z85 }
}

/// The secret half of a CURVE key; it has no revealing description.
package struct CurveSecretKey: Sendable, CustomStringConvertible, CustomReflectable {
    let bytes: [UInt8]

    /// Takes the 40 characters of Z85 (ZeroMQ RFC 32).
    package init?(z85 text: String) {
        guard let bytes = Z85.decode(text) else { return nil }
        self.bytes = bytes
    }

    /// The text for a key file; nothing else may see it.
    package var z85: String { Z85.encode(bytes) }
    package var description: String { "‹redacted›" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A CURVE key pair.
package struct CurveKeyPair: Sendable {
    package let publicKey: CurvePublicKey
    package let secret: CurveSecretKey

    /// Makes the pair that belongs to `secret`; nil when libzmq refuses the secret key.
    package init?(secret: CurveSecretKey) {
        var text = [CChar](repeating: 0, count: 41)
        guard
            zmq_curve_public(&text, secret.z85) == 0,
            let publicKey = CurvePublicKey(z85: Z85.text(text))
        else { return nil }
        self.publicKey = publicKey
        self.secret = secret
    }

    private init(publicKey: CurvePublicKey, secret: CurveSecretKey) {
        self.publicKey = publicKey
        self.secret = secret
    }

    /// Makes a fresh random pair.
    package static func generate() throws(ZeroMQError) -> CurveKeyPair {
        var publicText = [CChar](repeating: 0, count: 41)
        var secretText = [CChar](repeating: 0, count: 41)
        guard
            zmq_curve_keypair(&publicText, &secretText) == 0,
            let publicKey = CurvePublicKey(z85: Z85.text(publicText)),
            let secret = CurveSecretKey(z85: Z85.text(secretText))
        else { throw .last("curve keypair", "libzmq must be built with CURVE") }
        return CurveKeyPair(publicKey: publicKey, secret: secret)
    }
}

/// ZeroMQ's printable form of 32 bytes.
enum Z85 {
    static func encode(_ bytes: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: bytes.count / 4 * 5 + 1)
        guard zmq_z85_encode(&text, bytes, bytes.count) != nil else { return "" }
        return self.text(text)
    }

    static func decode(_ text: String) -> [UInt8]? {
        // Checked here because libzmq looks characters up in a table of 96 without a bound.
        guard text.utf8.count == 40, text.utf8.allSatisfy({ alphabet.contains($0) }) else {
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: 32)
        return zmq_z85_decode(&bytes, text) == nil ? nil : bytes
    }

    static func text(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static let alphabet = Set(
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#".utf8
    )
}
