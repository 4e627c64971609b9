import Contracts

/// One notification that was accepted for a token.
struct ReceivedNotification: Sendable {
    /// Counts all accepted notifications of the simulator, from 1.
    var number: UInt64 = 0
    var device: DeviceRegistry.Key
    var at: UnixMilliseconds
    var id: MessageID
    var topic: String
    var pushType: PushType?
    var priority: Int
    var expiration: Int64?
    var collapseID: String?
    var payload: [UInt8] = []
    /// When a phone got it: at once if one was listening, or when one began to.
    var deliveredAt: UnixMilliseconds?

    /// The form that the control API and the stream give; `payload` is the JSON that was sent.
    func write(to json: inout CompactJSON) {
        json.object {
            $0.field("number", number)
            $0.field("environment", device.environment.rawValue)
            $0.field("received_at", at.milliseconds)
            $0.field("apns_id", id.text)
            $0.field("topic", topic)
            if let pushType { $0.field("push_type", pushType.rawValue) }
            $0.field("priority", priority)
            if let expiration { $0.field("expiration", expiration) }
            if let collapseID { $0.field("collapse_id", collapseID) }
            $0.key("delivered")
            $0.value(deliveredAt != nil)
            $0.field("payload_base64", Base64.encode(payload))
            if let text = String(validating: payload, as: UTF8.self) {
                $0.field("payload", text)
            }
        }
    }
}
