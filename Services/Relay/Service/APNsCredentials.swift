import PushBusCrypto

/// The publisher's key at Apple and the topic it pushes to.
package struct APNsCredentials: Sendable {
    /// 10 characters A-Z and 0-9.
    package let teamID: String
    /// 10 characters A-Z and 0-9.
    package let keyID: String
    package let key: ES256PrivateKey
    /// The app's bundle id.
    package let topic: String

    /// Checks the parts; the message names the part that is wrong and never holds the key.
    package init(
        teamID: String,
        keyID: String,
        keyPEM: SecretBytes,
        topic: String
    ) throws(CryptoError) {
        for (name, text) in [("team id", teamID), ("key id", keyID)] {
            guard
                text.utf8.count == 10,
                text.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) })
            else {
                throw CryptoError(.invalidInput, "the \(name) needs 10 characters A-Z and 0-9")
            }
        }
        guard
            (1...255).contains(topic.utf8.count),
            topic.utf8.allSatisfy({
                (0x30...0x39).contains($0) || (0x41...0x5a).contains($0)
                    || (0x61...0x7a).contains($0) || $0 == 0x2d || $0 == 0x2e
            })
        else {
            throw CryptoError(
                .invalidInput,
                "the topic needs 1 to 255 letters, digits, dots or hyphens"
            )
        }
        self.teamID = teamID
        self.keyID = keyID
        self.topic = topic
        key = try ES256PrivateKey(pem: keyPEM)
    }
}
