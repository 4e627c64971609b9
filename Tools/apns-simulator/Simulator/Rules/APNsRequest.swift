import HTTP2

/// What kind of push a request asks for, `apns-push-type`.
///
/// Source: Apple's page "Sending notification requests to APNs".
enum PushType: String, Sendable {
    case alert, background, voip, complication, fileprovider, mdm, location, liveactivity
    case pushtotalk, widgets, controls
}

/// One notification as it came over the wire, checked field by field.
///
/// Source of the rules: Apple's page "Sending notification requests to APNs".
struct APNsRequest: Sendable {
    /// Lowercase hex.
    var token: String
    var topic: String
    var pushType: PushType?
    var priority: Int
    /// Unix seconds; 0 is one attempt without storing, nil leaves the time to the service.
    var expiration: Int64?
    var collapseID: String?

    /// Checks method, path and header fields; `id` is what `apns-id` was read as.
    init(_ fields: RequestFields, id: MessageID?) throws(APNsAnswer) {
        let path = try Self.path(fields)
        guard !fields.isAnyRepeated else { throw APNsAnswer("DuplicateHeaders") }
        if fields.id != nil, id == nil { throw APNsAnswer("BadMessageId") }
        guard let topic = fields.topic, !topic.isEmpty else { throw APNsAnswer("MissingTopic") }
        self.topic = String(decoding: topic, as: UTF8.self)
        if let text = fields.pushType {
            guard let pushType = PushType(rawValue: String(decoding: text, as: UTF8.self)) else {
                throw APNsAnswer("InvalidPushType")
            }
            self.pushType = pushType
        }
        priority = try Self.priority(fields.priority)
        if pushType == .background, priority == 10 { throw APNsAnswer("BadPriority") }
        if let text = fields.expiration {
            guard let seconds = Self.seconds(text) else { throw APNsAnswer("BadExpirationDate") }
            expiration = seconds
        }
        if let text = fields.collapseID {
            guard (1...64).contains(text.count) else { throw APNsAnswer("BadCollapseId") }
            collapseID = String(decoding: text, as: UTF8.self)
        }
        guard let token = Self.token(path) else { throw APNsAnswer("BadDeviceToken") }
        self.token = token
    }

    /// Largest payload in bytes: 5120 for VoIP, else 4096.
    var payloadLimit: Int { pushType == .voip ? 5_120 : 4_096 }

    /// Checks size and shape of the payload; `isStrict` parses all of its JSON.
    func checkPayload(
        _ bytes: [UInt8],
        totalBytes: Int,
        isStrict: Bool
    ) throws(APNsAnswer) {
        guard totalBytes > 0 else { throw APNsAnswer("PayloadEmpty") }
        guard totalBytes <= payloadLimit else { throw APNsAnswer("PayloadTooLarge") }
        guard isStrict else {
            guard bytes.first == UInt8(ascii: "{"), bytes.last == UInt8(ascii: "}") else {
                throw APNsAnswer("PayloadEmpty")
            }
            return
        }
        guard PayloadShape.isAcceptable(bytes) else { throw APNsAnswer("PayloadEmpty") }
    }

    /// The last part of `/3/device/<token>`.
    private static func path(
        _ fields: RequestFields
    ) throws(APNsAnswer) -> UnsafeBufferPointer<UInt8> {
        guard fields.method?.isEqual(to: "POST") == true else {
            throw APNsAnswer("MethodNotAllowed")
        }
        let prefix: StaticString = "/3/device/"
        guard let path = fields.path else { throw APNsAnswer("BadPath") }
        guard path.begins(with: prefix) else {
            throw APNsAnswer(path.isEqual(to: "/3/device") ? "MissingDeviceToken" : "BadPath")
        }
        let token = UnsafeBufferPointer(rebasing: path[prefix.utf8CodeUnitCount...])
        guard !token.isEmpty else { throw APNsAnswer("MissingDeviceToken") }
        guard !token.contains(UInt8(ascii: "/")) else { throw APNsAnswer("BadPath") }
        return token
    }

    private static func priority(
        _ text: UnsafeBufferPointer<UInt8>?
    ) throws(APNsAnswer) -> Int {
        guard let text else { return 10 }
        if text.isEqual(to: "10") { return 10 }
        if text.isEqual(to: "5") { return 5 }
        if text.isEqual(to: "1") { return 1 }
        throw APNsAnswer("BadPriority")
    }

    /// Decimal digits of a number that is no negative one.
    private static func seconds(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard (1...18).contains(text.count) else { return nil }
        var value: Int64 = 0
        for byte in text {
            guard (0x30...0x39).contains(byte) else { return nil }
            value = value * 10 + Int64(byte - 0x30)
        }
        return value
    }

    /// A device token in lowercase, nil if it cannot be one: Apple says not to assume a length, but
    /// what is not hex is no token.
    static func token(_ text: UnsafeBufferPointer<UInt8>) -> String? {
        guard (2...1_024).contains(text.count), text.count.isMultiple(of: 2) else { return nil }
        var isHex = true
        let token = String(unsafeUninitializedCapacity: text.count) { target in
            for (place, byte) in text.enumerated() {
                // The bit that tells small letters from capital ones is set in digits too.
                let low = byte | 0x20
                let isDigit = byte &- 0x30 < 10
                if !isDigit, low &- 0x61 > 5 { isHex = false }
                target[place] = low
            }
            // What is not hex may not be text either.
            return isHex ? text.count : 0
        }
        return isHex ? token : nil
    }

    /// The same for a text.
    static func token(_ text: String) -> String? {
        var text = text
        return text.withUTF8 { token($0) }
    }
}
