import Contracts

/// Writes the JSON that goes to APNs: the visible fallback and the envelope.
///
/// No category, action, interruption level, thread or badge: nothing that depends on the content.
package struct PushPayload: Sendable {
    /// Bytes that APNs takes (Apple's page "Generating a remote notification").
    package static let limit = 4096

    private let head: [UInt8]

    package init(_ profile: AppProfile) {
        var json = CompactJSON(reservingBytes: 512)
        json.object {
            $0.key("aps")
            $0.object {
                $0.key("alert")
                $0.object {
                    $0.field("title", profile.fallbackTitle)
                    $0.field("body", profile.fallbackBody)
                }
                $0.field("mutable-content", 1)
                $0.field("sound", "default")
            }
            $0.key(profile.payloadKey)
        }
        // Without the closing brace, which follows the envelope.
        head = Array(json.bytes.dropLast())
    }

    /// The payload, or nil when APNs would refuse it for its size.
    package func bytes(for envelope: Envelope) -> [UInt8]? {
        var json = CompactJSON(
            continuing: head,
            reservingBytes: 256 + envelope.ciphertext.bytes.count * 4 / 3
        )
        json.object {
            $0.field("version", envelope.version)
            $0.field("key_id", envelope.keyID.description)
            $0.field("identity", envelope.identity)
            $0.key("nonce")
            $0.base64(envelope.nonce.bytes)
            $0.key("ciphertext")
            $0.base64(envelope.ciphertext.bytes)
        }
        json.end()
        return json.bytes.count <= Self.limit ? json.bytes : nil
    }
}

/// Identifiers of one push at APNs.
package enum PushIdentity {
    /// `apns-id`: a UUID from SHA-256 over event id and device token, the same in every retry and
    /// different for every phone.
    package static func apnsID(
        eventID: EventID,
        deviceToken: DeviceToken,
        sha256: ([UInt8]) -> [UInt8]
    ) -> String {
        var text = Array(eventID.description.utf8)
        text.append(UInt8(ascii: "|"))
        text += deviceToken.hex.utf8
        let digest = sha256(text)
        // A digest has 32 bytes; without 16 there is only the event to go by.
        return (EventID(hash: digest) ?? eventID).description
    }
}
