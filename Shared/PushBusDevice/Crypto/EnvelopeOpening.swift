import Contracts

/// Opens envelope v1 for the recipient that this phone is.
enum EnvelopeOpening {
    /// Checks recipient, authenticity and content; expiry and repetition are the caller's to check.
    static func open(
        _ envelope: Envelope,
        key: ContentKey,
        recipient: EnvelopeIdentity
    ) -> Result<EnvelopePlaintext, Failure> {
        guard envelope.version == 1 else { return .failure(.unsupportedVersion) }
        guard envelope.identity == Hex.encode(DeviceCrypto.sha256(recipient.hashedText)) else {
            return .failure(.otherRecipient)
        }
        do throws(ContractViolation) {
            try envelope.checkBounds()
        } catch {
            return .failure(.malformed)
        }
        let bytes: [UInt8]
        do throws(DeviceCrypto.Refused) {
            bytes = try DeviceCrypto.open(
                envelope.ciphertext.bytes,
                key: key.bytes,
                nonce: envelope.nonce.bytes,
                authenticating: Envelope.associatedData(
                    keyID: envelope.keyID,
                    identity: envelope.identity
                )
            )
        } catch {
            return .failure(.authenticationFailed)
        }
        guard let plaintext = try? EnvelopePlaintext(decoding: bytes) else {
            return .failure(.malformed)
        }
        guard plaintext.identity == recipient else { return .failure(.otherRecipient) }
        return .success(plaintext)
    }

    enum Failure: Error {
        case unsupportedVersion
        case otherRecipient
        case malformed
        case authenticationFailed
    }
}
