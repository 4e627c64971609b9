import HTTP2

/// One notification as it came over the wire, checked field by field.
///
/// Source of the rules: Apple's page "Sending notification requests to APNs".
struct APNsRequest: Sendable {
    /// Lowercase hex.
    var token: String
    var id: String?
    var topic: String
    var pushType: String?
    var priority: Int
    /// Unix seconds; 0 is one attempt without storing, nil leaves the time to the service.
    var expiration: Int64?
    var collapseID: String?

    static let knownPushTypes: Set<String> = [
        "alert", "background", "voip", "complication", "fileprovider", "mdm", "location",
        "liveactivity", "pushtotalk", "widgets", "controls",
    ]

    private static let onceOnly = [
        "authorization", "apns-topic", "apns-push-type", "apns-priority", "apns-expiration",
        "apns-id", "apns-collapse-id",
    ]

    /// Checks method, path and header fields.
    init(_ headers: HTTP2HeaderList) throws(APNsAnswer) {
        let path = try Self.path(headers)
        guard Self.onceOnly.allSatisfy({ !headers.isRepeated($0) }) else {
            throw APNsAnswer("DuplicateHeaders")
        }
        id = headers["apns-id"]
        if let id, !Self.isCanonicalUUID(id) { throw APNsAnswer("BadMessageId") }
        guard let topic = headers["apns-topic"], !topic.isEmpty else {
            throw APNsAnswer("MissingTopic")
        }
        self.topic = topic
        pushType = headers["apns-push-type"]
        if let pushType, !Self.knownPushTypes.contains(pushType) {
            throw APNsAnswer("InvalidPushType")
        }
        switch headers["apns-priority"] {
        case nil, "10": priority = 10
        case "5": priority = 5
        case "1": priority = 1
        default: throw APNsAnswer("BadPriority")
        }
        if pushType == "background", priority == 10 { throw APNsAnswer("BadPriority") }
        if let text = headers["apns-expiration"] {
            guard let seconds = Int64(text), seconds >= 0 else {
                throw APNsAnswer("BadExpirationDate")
            }
            expiration = seconds
        }
        collapseID = headers["apns-collapse-id"]
        if let collapseID, collapseID.utf8.count > 64 || collapseID.isEmpty {
            throw APNsAnswer("BadCollapseId")
        }
        guard Self.isToken(path) else { throw APNsAnswer("BadDeviceToken") }
        token = path.lowercased()
    }

    /// Largest payload in bytes: 5120 for VoIP, else 4096.
    var payloadLimit: Int { pushType == "voip" ? 5_120 : 4_096 }

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
    private static func path(_ headers: HTTP2HeaderList) throws(APNsAnswer) -> String {
        let isPost = headers.withBytes(of: ":method") { $0.elementsEqual("POST".utf8) } ?? false
        guard isPost else { throw APNsAnswer("MethodNotAllowed") }
        let prefix = "/3/device/"
        guard let path = headers[":path"], path.hasPrefix(prefix) || path == "/3/device" else {
            throw APNsAnswer("BadPath")
        }
        let token = path.dropFirst(prefix.count)
        guard !token.isEmpty else { throw APNsAnswer("MissingDeviceToken") }
        guard !token.utf8.contains(UInt8(ascii: "/")) else { throw APNsAnswer("BadPath") }
        return String(token)
    }

    /// Apple says not to assume a length; what is not hex cannot be a token.
    static func isToken(_ text: String) -> Bool {
        let bytes = text.utf8
        return (2...1_024).contains(bytes.count) && bytes.count.isMultiple(of: 2)
            && bytes.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
                    || (0x41...0x46).contains(byte)
            }
    }

    /// 8-4-4-4-12 hex digits in lowercase.
    static func isCanonicalUUID(_ text: String) -> Bool {
        let bytes = text.utf8
        guard bytes.count == 36 else { return false }
        for (offset, byte) in bytes.enumerated() {
            switch offset {
            case 8, 13, 18, 23: if byte != UInt8(ascii: "-") { return false }
            default:
                guard (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte) else {
                    return false
                }
            }
        }
        return true
    }
}
