import Contracts

/// The body of `POST /v1/send` (contracts §1.1).
package enum RelayRequest {
    /// Compact JSON with exactly the keys of the contract; whether the binding is young is not among
    /// them, since a relay elsewhere is no party to that.
    package static func body(_ message: RelaySend.Message) -> [UInt8] {
        let ciphertext = message.envelope.ciphertext.bytes
        var json = CompactJSON(
            reservingBytes: 512 + message.deviceToken.hex.utf8.count + ciphertext.count * 4 / 3
        )
        json.object {
            $0.field("device_token", message.deviceToken.hex)
            $0.field("environment", message.environment.rawValue)
            $0.field("event_id", message.eventID.description)
            $0.field("expires_at", message.expiresAt.seconds)
            $0.key("envelope")
            $0.object {
                $0.field("version", message.envelope.version)
                $0.field("key_id", message.envelope.keyID.description)
                $0.field("identity", message.envelope.identity)
                $0.key("nonce")
                $0.base64(message.envelope.nonce.bytes)
                $0.key("ciphertext")
                $0.base64(ciphertext)
            }
        }
        return json.bytes
    }
}
