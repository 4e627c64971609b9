import Contracts
import PushBusCrypto
import Testing

/// Fixed values of envelope v1.
enum Vector {
    static let identity = EnvelopeIdentity(
        deploymentID: DeploymentID("https://serverbee.test"),
        userID: UserID("alice"),
        installationID: InstallationID("test-install")
    )

    static func key() throws -> ContentKey { try #require(ContentKey(Array(0..<32))) }

    static func keyID() throws -> KeyID {
        try #require(KeyID("22222222-2222-4222-8222-222222222222"))
    }

    static let nonce = Array(UInt8(0x20)...0x2b)

    static func plaintext(_ content: NotificationContent = .test) throws -> EnvelopePlaintext {
        EnvelopePlaintext(
            identity: identity,
            eventID: try #require(EventID("11111111-1111-4111-8111-111111111111")),
            createdAt: UnixSeconds(2_000_000_000),
            expiresAt: UnixSeconds(2_000_001_800),
            content: content
        )
    }

    static func envelope(_ content: NotificationContent = .test) throws -> Envelope {
        try EnvelopeSealer.seal(plaintext(content), key: key(), keyID: keyID(), nonce: nonce)
    }
}

@Suite("Envelope v1")
struct EnvelopeTests {
    @Test("The test vector, byte for byte")
    func vector() throws {
        let identity = Vector.identity.digest
        #expect(identity == "40e9ea0a395dec3bafe5e84afbbe2e726ac53aa273f168b4ac650b208fdef51f")
        #expect(identity != "6a40539853289c95b488c1dd1b4d3fb393dc4d1cae53eae647a190ce3fa2aee2")
        let associated = EnvelopeSealer.associatedData(
            keyID: try Vector.keyID(),
            identity: identity
        )
        #expect(associated.count == 119)
        #expect(try Vector.plaintext().encoded().count == 205)
        let envelope = try Vector.envelope()
        #expect(envelope.identity == identity)
        #expect(envelope.nonce.bytes == Vector.nonce)
        #expect(
            Hex.encode(envelope.ciphertext.bytes.suffix(16)) == "8c0f75216991586f5c43d385e054e242"
        )
        let text = Base64.encode(envelope.ciphertext.bytes)
        #expect(text.utf8.count == 296)
        #expect(
            SHA256.hex(text) == "7860ed8e2b32ce6fcf7e49bd5deed63e1aa097378a88b3c773290aef6e5e0e04"
        )
    }

    @Test("An identity written with escaped slashes is the wrong one")
    func escapedSlash() {
        #expect(
            SHA256.hex(#"["https:\/\/serverbee.test","alice","test-install"]"#)
                == "6a40539853289c95b488c1dd1b4d3fb393dc4d1cae53eae647a190ce3fa2aee2"
        )
    }

    static let contents: [NotificationContent] = [
        .test,
        .alert(
            AlertContent(
                alertKey: "v1.WyJyIiwicyIsImEiLCJ0Il0=",
                status: .firing,
                ruleName: "CPU > 90 % \"now\" / \\ \u{1} \u{2028}",
                serverName: "👩‍👩‍👧‍👦 e\u{301} مرحبا"
            )
        ),
        .security(
            SecurityContent(
                serverID: "s1",
                securityEventID: "e1",
                securityEventType: "ssh_brute_force_detected"
            )
        ),
        .taskFailure(
            TaskRunContent(
                taskID: "t",
                runID: "r",
                total: 5,
                failed: 1,
                timedOut: 1,
                offline: 1,
                denied: 1
            )
        ),
        .taskSuccess(
            TaskRunContent(
                taskID: "t",
                runID: "r",
                total: 9_007_199_254_740_991,
                failed: 0,
                timedOut: 0,
                offline: 0,
                denied: 0
            )
        ),
    ]

    @Test("Every kind is opened as it was sealed", arguments: contents)
    func roundTrip(content: NotificationContent) throws {
        let envelope = try Vector.envelope(content)
        let opened = try EnvelopeSealer.open(
            envelope,
            key: Vector.key(),
            keyID: Vector.keyID(),
            recipient: Vector.identity
        )
        #expect(opened == (try Vector.plaintext(content)))
    }

    @Test("The plaintext of an alert in its fixed key order")
    func alertText() throws {
        let text = String(decoding: try Vector.plaintext(Self.contents[1]).encoded(), as: UTF8.self)
        #expect(
            text.hasPrefix(
                #"{"kind":"alert","deployment_id":"https://serverbee.test","user_id":"alice","#
                    + #""installation_id":"test-install","#
                    + #""event_id":"11111111-1111-4111-8111-111111111111","created_at":2000000000,"#
                    + #""expires_at":2000001800,"alert":{"alert_key":"v1.WyJyIiwicyIsImEiLCJ0Il0=","#
                    + #""status":"firing","rule_name":"CPU > 90 % \"now\" / \\ \u0001"#
            )
        )
    }

    private func open(
        _ envelope: Envelope,
        key: ContentKey? = nil,
        keyID: KeyID? = nil,
        recipient: EnvelopeIdentity = Vector.identity
    ) throws -> EnvelopeError? {
        do throws(EnvelopeError) {
            _ = try EnvelopeSealer.open(
                envelope,
                key: key ?? Vector.keyOrFail(),
                keyID: keyID ?? envelope.keyID,
                recipient: recipient
            )
            return nil
        } catch {
            return error
        }
    }

    @Test("Another version, key, key id or recipient is a typed error")
    func mismatches() throws {
        var envelope = try Vector.envelope()
        envelope.version = 2
        #expect(try open(envelope) == .unsupportedVersion(2))
        envelope = try Vector.envelope()
        let otherKey = try #require(ContentKey([UInt8](repeating: 1, count: 32)))
        #expect(try open(envelope, key: otherKey) == .authenticationFailed)
        let otherID = try #require(KeyID("33333333-3333-4333-8333-333333333333"))
        #expect(try open(envelope, keyID: otherID) == .otherKey)
        for change in 0..<3 {
            var recipient = Vector.identity
            switch change {
            case 0: recipient.deploymentID = DeploymentID("https://serverbee.test/")
            case 1: recipient.userID = UserID("bob")
            default: recipient.installationID = InstallationID("other")
            }
            #expect(try open(envelope, recipient: recipient) == .identityMismatch)
        }
    }

    @Test("A change to any field is noticed")
    func tampering() throws {
        let good = try Vector.envelope()
        var envelope = good
        envelope.keyID = try #require(KeyID("22222222-2222-4222-8222-222222222223"))
        #expect(try open(envelope) == .authenticationFailed)
        envelope = good
        envelope.nonce.bytes[0] ^= 1
        #expect(try open(envelope) == .authenticationFailed)
        for index in [0, 100, 204, 205, 220] {
            envelope = good
            envelope.ciphertext.bytes[index] ^= 0x80
            #expect(try open(envelope) == .authenticationFailed)
        }
        envelope = good
        envelope.ciphertext.bytes.removeLast()
        #expect(try open(envelope) == .authenticationFailed)
        envelope = good
        envelope.identity = String(repeating: "0", count: 64)
        #expect(try open(envelope) == .identityMismatch)
        #expect(throws: EnvelopeError.authenticationFailed) {
            try EnvelopeSealer.open(envelope, key: Vector.key())
        }
    }

    @Test("Wrong sizes are refused before decrypting")
    func sizes() throws {
        let good = try Vector.envelope()
        for count in [0, 15, 2071] {
            var envelope = good
            envelope.ciphertext.bytes = [UInt8](repeating: 0, count: count)
            #expect(try open(envelope)?.name == "malformed")
        }
        for count in [0, 11, 13] {
            var envelope = good
            envelope.nonce.bytes = [UInt8](repeating: 0, count: count)
            #expect(try open(envelope)?.name == "malformed")
        }
    }

    @Test("A well sealed text that is no plaintext is a typed error")
    func foreignPlaintext() throws {
        for text in ["", "{}", "[]", #"{"kind":"test","kind":"test"}"#] {
            let sealed = try AESGCM.seal(
                Array(text.utf8),
                key: Vector.key().bytes,
                nonce: Vector.nonce,
                authenticating: EnvelopeSealer.associatedData(
                    keyID: Vector.keyID(),
                    identity: Vector.identity.digest
                )
            )
            let envelope = Envelope(
                keyID: try Vector.keyID(),
                identity: Vector.identity.digest,
                nonce: Blob(Vector.nonce),
                ciphertext: Blob(sealed)
            )
            #expect(try open(envelope)?.name == "malformed_plaintext")
        }
    }

    @Test("An envelope whose inside names somebody else is refused")
    func innerIdentity() throws {
        var inner = try Vector.plaintext()
        inner.identity.userID = UserID("mallory")
        let sealed = try AESGCM.seal(
            inner.encoded(),
            key: Vector.key().bytes,
            nonce: Vector.nonce,
            authenticating: EnvelopeSealer.associatedData(
                keyID: Vector.keyID(),
                identity: Vector.identity.digest
            )
        )
        var envelope = try Vector.envelope()
        envelope.ciphertext = Blob(sealed)
        #expect(try open(envelope) == .identityMismatch)
    }

    @Test("A nonce of another size cannot be used for sealing")
    func nonceSize() throws {
        #expect(throws: EnvelopeError.self) {
            try EnvelopeSealer.seal(
                Vector.plaintext(),
                key: Vector.key(),
                keyID: Vector.keyID(),
                nonce: [1]
            )
        }
    }

    @Test("Two seals of one message differ")
    func freshNonce() throws {
        let one = try EnvelopeSealer.seal(
            Vector.plaintext(),
            key: Vector.key(),
            keyID: Vector.keyID()
        )
        let two = try EnvelopeSealer.seal(
            Vector.plaintext(),
            key: Vector.key(),
            keyID: Vector.keyID()
        )
        #expect(one.nonce != two.nonce)
        #expect(one.ciphertext != two.ciphertext)
    }
}

extension Vector {
    static func keyOrFail() -> ContentKey {
        guard let key = ContentKey(Array(0..<32)) else { preconditionFailure("32 bytes are a key") }
        return key
    }
}
