import Contracts

/// The stored form of an envelope: version, key id, identity, nonce and ciphertext in one run of bytes.
enum EnvelopeBytes {
    private static let keyIDBytes = 16
    private static let identityBytes = 32
    private static let headBytes = 1 + keyIDBytes + identityBytes + Envelope.nonceBytes

    /// Nil for an envelope that breaks its contract.
    static func encode(_ envelope: Envelope) -> [UInt8]? {
        guard
            let version = UInt8(exactly: envelope.version),
            envelope.nonce.bytes.count == Envelope.nonceBytes,
            envelope.identity.utf8.count == identityBytes * 2, Hex.isLowercase(envelope.identity),
            let identity = Hex.decode(envelope.identity)
        else { return nil }
        var stored: [UInt8] = []
        stored.reserveCapacity(headBytes + envelope.ciphertext.bytes.count)
        stored.append(version)
        stored += envelope.keyID.bytes
        stored += identity
        stored += envelope.nonce.bytes
        stored += envelope.ciphertext.bytes
        return stored
    }

    /// Nil for bytes that no envelope was made of.
    static func decode(_ stored: [UInt8]) -> Envelope? {
        guard stored.count > headBytes else { return nil }
        let identityStart = 1 + keyIDBytes
        let nonceStart = identityStart + identityBytes
        guard let keyID = KeyID(bytes: stored[1..<identityStart]) else { return nil }
        return Envelope(
            version: Int(stored[0]),
            keyID: keyID,
            identity: Hex.encode(stored[identityStart..<nonceStart]),
            nonce: Blob(Array(stored[nonceStart..<headBytes])),
            ciphertext: Blob(Array(stored[headBytes...]))
        )
    }
}
