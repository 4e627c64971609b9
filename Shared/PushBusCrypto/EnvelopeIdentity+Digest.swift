import Contracts

extension EnvelopeIdentity {
    /// The envelope's `identity`: lowercase hex SHA-256 of the compact JSON array of the three
    /// strings, with `/` written as it is.
    package var digest: String {
        var json = CompactJSON(reservingBytes: 128)
        json.array {
            $0.value(deploymentID.text)
            $0.value(userID.text)
            $0.value(installationID.text)
        }
        return SHA256.hex(json.bytes)
    }
}
