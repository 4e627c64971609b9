import Contracts

/// Seals and opens envelope v1.
package enum EnvelopeSealer {
    /// The associated data: `ServerBee.Push.v1`, key id and identity joined by a vertical bar.
    package static func associatedData(keyID: KeyID, identity: String) -> [UInt8] {
        Envelope.associatedData(keyID: keyID, identity: identity)
    }

    /// Writes the plaintext, titles cut to fit, and encrypts it.
    ///
    /// The nonce is 12 fresh random bytes for every message; a repeated nonce under one key breaks
    /// the encryption: whoever passes one draws it anew for each, and only comparisons with other
    /// implementations pass a fixed one.
    package static func seal(
        _ plaintext: EnvelopePlaintext,
        key: ContentKey,
        keyID: KeyID,
        nonce: [UInt8] = SecureRandom.bytes(AESGCM.nonceBytes)
    ) throws(EnvelopeError) -> Envelope {
        let identity = plaintext.identity.digest
        var bytes = try plaintext.encoded()
        defer { wipe(&bytes) }
        do throws(CryptoError) {
            let sealed = try AESGCM.seal(
                bytes,
                key: key.bytes,
                nonce: nonce,
                authenticating: associatedData(keyID: keyID, identity: identity)
            )
            return Envelope(
                keyID: keyID,
                identity: identity,
                nonce: Blob(nonce),
                ciphertext: Blob(sealed)
            )
        } catch {
            throw .failed(error)
        }
    }

    /// Checks and decrypts an envelope that must be for `recipient` and sealed with this key.
    ///
    /// Expiry and repetition are the caller's to check: they are not part of the associated data.
    package static func open(
        _ envelope: Envelope,
        key: ContentKey,
        keyID: KeyID,
        recipient: EnvelopeIdentity
    ) throws(EnvelopeError) -> EnvelopePlaintext {
        guard envelope.version == 1 else { throw .unsupportedVersion(envelope.version) }
        guard envelope.keyID == keyID else { throw .otherKey }
        guard envelope.identity == recipient.digest else { throw .identityMismatch }
        let plaintext = try open(envelope, key: key)
        guard plaintext.identity == recipient else { throw .identityMismatch }
        return plaintext
    }

    /// Decrypts an envelope for whomever it names; what it holds must name the same recipient.
    package static func open(
        _ envelope: Envelope,
        key: ContentKey
    ) throws(EnvelopeError) -> EnvelopePlaintext {
        var bytes = try openBytes(envelope, key: key)
        defer { wipe(&bytes) }
        let plaintext: EnvelopePlaintext
        do throws(ContractViolation) {
            plaintext = try EnvelopePlaintext(decoding: bytes)
        } catch {
            throw .malformedPlaintext(error)
        }
        guard plaintext.identity.digest == envelope.identity else { throw .identityMismatch }
        return plaintext
    }

    /// Decrypts an envelope and returns the plaintext bytes as they were sealed.
    package static func openBytes(
        _ envelope: Envelope,
        key: ContentKey
    ) throws(EnvelopeError) -> [UInt8] {
        guard envelope.version == 1 else { throw .unsupportedVersion(envelope.version) }
        do throws(ContractViolation) { try envelope.checkBounds() } catch {
            throw .malformed(error)
        }
        do throws(CryptoError) {
            return try AESGCM.open(
                envelope.ciphertext.bytes,
                key: key.bytes,
                nonce: envelope.nonce.bytes,
                authenticating: associatedData(keyID: envelope.keyID, identity: envelope.identity)
            )
        } catch {
            throw error.code == .authenticationFailed ? .authenticationFailed : .failed(error)
        }
    }
}
