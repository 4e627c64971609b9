/// What differs from publisher to publisher; the default is the reference system's app.
package struct NotificationProfile: Codable, Hashable, Sendable {
    /// The name that stands above notifications without content of their own.
    package var label: String
    /// The top-level key of the APNs payload that holds the envelope.
    package var payloadKey: String

    package init(label: String, payloadKey: String) {
        self.label = label
        self.payloadKey = payloadKey
    }

    enum CodingKeys: String, CodingKey {
        case label
        case payloadKey = "payload_key"
    }

    /// The profile of contracts §1.5.
    package static let reference = Self(label: "ServerBee", payloadKey: "serverbee_envelope")
}
