import Contracts
import PushBusCrypto
import Testing

@testable import PushBusDevice

/// The phone's own opening against envelopes that the server's module sealed.
@Suite struct EnvelopeOpeningTests {
    /// Key, nonce and identifiers of the reference system's `test` vector.
    private func vector() throws -> (
        envelope: Envelope, key: ContentKey, recipient: EnvelopeIdentity
    ) {
        let recipient = EnvelopeIdentity(
            deploymentID: DeploymentID("https://serverbee.test"),
            userID: UserID("alice"),
            installationID: InstallationID("test-install")
        )
        let key = try #require(ContentKey(Array(0..<32)))
        let envelope = try EnvelopeSealer.seal(
            EnvelopePlaintext(
                identity: recipient,
                eventID: #require(EventID("11111111-1111-4111-8111-111111111111")),
                createdAt: UnixSeconds(2_000_000_000),
                expiresAt: UnixSeconds(2_000_001_800),
                content: .test
            ),
            key: key,
            keyID: #require(KeyID("22222222-2222-4222-8222-222222222222")),
            nonce: Array(0x20...0x2b)
        )
        return (envelope, key, recipient)
    }

    @Test func theReferenceVectorOpens() throws {
        let (envelope, key, recipient) = try vector()
        #expect(
            Hex.encode(DeviceCrypto.sha256(recipient.hashedText))
                == "40e9ea0a395dec3bafe5e84afbbe2e726ac53aa273f168b4ac650b208fdef51f"
        )
        #expect(
            Hex.encode(DeviceCrypto.sha256(Array(envelope.ciphertext.base64.utf8)))
                == "7860ed8e2b32ce6fcf7e49bd5deed63e1aa097378a88b3c773290aef6e5e0e04"
        )
        let opened = try EnvelopeOpening.open(envelope, key: key, recipient: recipient).get()
        #expect(opened.eventID.description == "11111111-1111-4111-8111-111111111111")
        #expect(opened.content == .test)
    }

    @Test func theSeamAgreesWithTheServersModule() throws {
        for size in [0, 1, 15, 16, 17, 64, 2048] {
            let plaintext = [UInt8](repeating: 7, count: size)
            let key = [UInt8](repeating: 1, count: 32)
            let nonce = [UInt8](repeating: 2, count: 12)
            var sealed = try AESGCM.seal(
                plaintext,
                key: key,
                nonce: nonce,
                authenticating: [3, 4]
            )
            let opened = try DeviceCrypto.open(
                sealed,
                key: key,
                nonce: nonce,
                authenticating: [3, 4]
            )
            #expect(opened == plaintext)
            #expect(throws: DeviceCrypto.Refused.self) {
                try DeviceCrypto.open(sealed, key: key, nonce: nonce, authenticating: [3])
            }
            sealed[sealed.count - 1] ^= 1
            #expect(throws: DeviceCrypto.Refused.self) {
                try DeviceCrypto.open(sealed, key: key, nonce: nonce, authenticating: [3, 4])
            }
            #expect(throws: DeviceCrypto.Refused.self) {
                try DeviceCrypto.open([1, 2], key: key, nonce: nonce, authenticating: [3, 4])
            }
            #expect(DeviceCrypto.sha256(plaintext) == SHA256.hash(plaintext))
        }
    }
}
