import Contracts

/// What `pushbus envelope seal` and `open` read on standard input, so that any other implementation
/// can be compared with this one.
///
/// Members: `key` (hex, 32 bytes), `key_id`, and for sealing `content` with the members of the
/// plaintext and an optional `nonce` (hex, for comparisons only); for opening `envelope`, and optionally
/// `content` with the three identifiers of the expected recipient.
package struct EnvelopeDescription: Sendable {
    private let json: StrictJSON
    private let key: ContentKey
    private let keyID: KeyID?

    /// Parses the description; the violation names the member that is wrong, never its value.
    package init(parsing bytes: [UInt8]) throws(ContractViolation) {
        do throws(StrictJSON.Failure) {
            json = try StrictJSON(parsing: bytes)
        } catch {
            throw ContractViolation("", error.reason)
        }
        guard json.members != nil else { throw ContractViolation("", "must be an object") }
        guard
            let keyBytes = Hex.decode(try json.requiredText("key")),
            let key = ContentKey(keyBytes)
        else { throw ContractViolation("/key", "must be 32 bytes in hex") }
        self.key = key
        if let text = json["key_id"] {
            guard let keyID = text.text.flatMap(KeyID.init) else {
                throw ContractViolation("/key_id", "must be a lowercase UUID")
            }
            self.keyID = keyID
        } else {
            keyID = nil
        }
    }

    /// The JSON of the envelope of `content`.
    package func sealed() throws -> [UInt8] {
        guard let keyID else { throw ContractViolation("/key_id", "must be a lowercase UUID") }
        let content = try json.requiredObject("content")
        let plaintext: EnvelopePlaintext
        do throws(ContractViolation) {
            plaintext = try EnvelopePlaintext(reading: content)
            try Self.checkMembers(of: content, kind: plaintext.content.category)
        } catch {
            throw error.under("/content")
        }
        guard plaintext.createdAt <= plaintext.expiresAt else {
            throw ContractViolation("/content/expires_at", "must not be before created_at")
        }
        var nonce = SecureRandom.bytes(AESGCM.nonceBytes)
        if let value = json["nonce"] {
            guard
                let bytes = value.text.flatMap(Hex.decode), bytes.count == AESGCM.nonceBytes
            else { throw ContractViolation("/nonce", "must be 12 bytes in hex") }
            nonce = bytes
        }
        return try EnvelopeSealer.seal(plaintext, key: key, keyID: keyID, nonce: nonce).json
    }

    /// What nobody would read is refused: a misspelled member would else be lost without a word.
    private static func checkMembers(
        of content: StrictJSON,
        kind: Category
    ) throws(ContractViolation) {
        var known: Set = [
            "kind", "deployment_id", "user_id", "installation_id", "event_id", "created_at",
            "expires_at",
        ]
        switch kind {
        case .test: break
        case .alert:
            known.insert("alert")
            try refuseOthers(
                than: ["alert_key", "status", "rule_name", "server_name"],
                in: content["alert"],
                at: "/alert"
            )
        case .security:
            known.formUnion(["server_id", "security_event_id", "security_event_type"])
        case .taskFailure, .taskSuccess:
            known.insert("task_run")
            try refuseOthers(
                than: ["task_id", "run_id", "total", "failed", "timed_out", "offline", "denied"],
                in: content["task_run"],
                at: "/task_run"
            )
        }
        try refuseOthers(than: known, in: content, at: "")
    }

    private static func refuseOthers(
        than known: Set<String>,
        in object: StrictJSON?,
        at pointer: String
    ) throws(ContractViolation) {
        for name in (object?.members ?? [:]).keys.sorted() where !known.contains(name) {
            throw ContractViolation("\(pointer)/\(name)", "is not a member of this kind of content")
        }
    }

    /// The plaintext of `envelope`, byte for byte as it was sealed, once everything about it was
    /// checked.
    package func opened() throws -> [UInt8] {
        let envelope = try Envelope(reading: json.requiredObject("envelope"))
        if let keyID {
            guard envelope.version == 1 else {
                throw EnvelopeError.unsupportedVersion(envelope.version)
            }
            guard keyID == envelope.keyID else { throw EnvelopeError.otherKey }
        }
        if let content = json["content"] {
            let recipient = try EnvelopeIdentity(reading: content)
            _ = try EnvelopeSealer.open(
                envelope,
                key: key,
                keyID: envelope.keyID,
                recipient: recipient
            )
        } else {
            _ = try EnvelopeSealer.open(envelope, key: key)
        }
        return try EnvelopeSealer.openBytes(envelope, key: key)
    }
}

extension Envelope {
    /// Compact JSON in the order of the envelope.
    package var json: [UInt8] {
        var writer = CompactJSON(reservingBytes: 3000)
        write(into: &writer)
        return writer.bytes
    }

    /// Writes the envelope as the value at this place.
    package func write(into writer: inout CompactJSON) {
        writer.object {
            $0.field("version", version)
            $0.field("key_id", keyID.description)
            $0.field("identity", identity)
            $0.key("nonce")
            $0.base64(nonce.bytes)
            $0.key("ciphertext")
            $0.base64(ciphertext.bytes)
        }
    }

    /// Reads the object of an envelope; form only, see ``checkBounds(at:)`` for sizes.
    package init(reading json: StrictJSON) throws(ContractViolation) {
        guard let version = Int(exactly: try json.requiredInteger("version")) else {
            throw ContractViolation("/version", "must be an integer")
        }
        guard let keyID = KeyID(try json.requiredText("key_id")) else {
            throw ContractViolation("/key_id", "must be a lowercase UUID")
        }
        guard let nonce = Base64.decode(try json.requiredText("nonce")) else {
            throw ContractViolation("/nonce", "must be canonical standard base64")
        }
        guard let ciphertext = Base64.decode(try json.requiredText("ciphertext")) else {
            throw ContractViolation("/ciphertext", "must be canonical standard base64")
        }
        self.init(
            version: version,
            keyID: keyID,
            identity: try json.requiredText("identity"),
            nonce: Blob(nonce),
            ciphertext: Blob(ciphertext)
        )
    }
}
