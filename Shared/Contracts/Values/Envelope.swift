/// Envelope v1 as it stands in a relay request and in the APNs payload.
package struct Envelope: Codable, Hashable, Sendable {
    /// Always 1 in a valid envelope; kept as a number so that another version can be refused by name.
    package var version: Int
    package var keyID: KeyID
    /// 64 lowercase hex characters: SHA-256 over the JSON array of deployment, user, installation.
    package var identity: String
    /// 12 random bytes.
    package var nonce: Blob
    /// Ciphertext followed by the 16-byte tag, 16 to 2070 bytes.
    package var ciphertext: Blob

    package init(version: Int = 1, keyID: KeyID, identity: String, nonce: Blob, ciphertext: Blob) {
        self.version = version
        self.keyID = keyID
        self.identity = identity
        self.nonce = nonce
        self.ciphertext = ciphertext
    }

    enum CodingKeys: String, CodingKey {
        case version
        case keyID = "key_id"
        case identity
        case nonce
        case ciphertext
    }

    /// Bytes of the longest plaintext.
    package static let plaintextLimit = 2048
    /// Bytes of ciphertext and tag together.
    package static let ciphertextRange = 16...2070
    package static let nonceBytes = 12

    /// The associated data: `ServerBee.Push.v1`, key id and identity joined by a vertical bar.
    package static func associatedData(keyID: KeyID, identity: String) -> [UInt8] {
        var data = Array("ServerBee.Push.v1|".utf8)
        data += keyID.description.utf8
        data.append(UInt8(ascii: "|"))
        data += identity.utf8
        return data
    }

    package func checkBounds(at pointer: String = "") throws(ContractViolation) {
        try ContractViolation.check(version == 1, "\(pointer)/version", "must be 1")
        try ContractViolation.check(
            identity.utf8.count == 64 && Hex.isLowercase(identity),
            "\(pointer)/identity",
            "must be 64 lowercase hex characters"
        )
        try ContractViolation.check(
            nonce.bytes.count == Self.nonceBytes,
            "\(pointer)/nonce",
            "must be 12 bytes"
        )
        try ContractViolation.check(
            Self.ciphertextRange.contains(ciphertext.bytes.count),
            "\(pointer)/ciphertext",
            "must be 16 to 2070 bytes"
        )
    }

    package func pack(into packer: any Packer) {
        packer.beginMap(fields: 5)
        packer.field("version", integer: Int64(version))
        packer.field("key_id", text: keyID.description)
        packer.field("identity", text: identity)
        packer.field("nonce", binary: nonce.bytes)
        packer.field("ciphertext", binary: ciphertext.bytes)
    }

    package init(packed value: PackedValue) throws(ContractViolation) {
        version = Int(try value.required("version").integer())
        keyID = try value.uuid("key_id")
        identity = try value.required("identity").text()
        nonce = Blob(try value.required("nonce").binary())
        ciphertext = Blob(try value.required("ciphertext").binary())
    }
}
