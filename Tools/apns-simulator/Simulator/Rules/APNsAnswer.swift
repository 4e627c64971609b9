import Contracts
import PushBusCrypto

/// What the service says to one request: status, reason and, with 410, since when.
///
/// Source of the pairs: Apple's page "Handling notification responses from APNs".
struct APNsAnswer: Hashable, Sendable, Error {
    var status: Int
    var reason: String?
    /// Since when the token has been known to be dead; only with 410.
    var timestamp: UnixMilliseconds?

    static let accepted = APNsAnswer(status: 200)

    static let statusOfReason: [String: Int] = [
        "BadCollapseId": 400, "BadDeviceToken": 400, "BadExpirationDate": 400, "BadMessageId": 400,
        "BadPriority": 400, "BadTopic": 400, "DeviceTokenNotForTopic": 400,
        "DuplicateHeaders": 400, "IdleTimeout": 400, "InvalidPushType": 400,
        "MissingDeviceToken": 400, "MissingTopic": 400, "PayloadEmpty": 400,
        "TopicDisallowed": 400,
        "BadCertificate": 403, "BadCertificateEnvironment": 403, "ExpiredProviderToken": 403,
        "Forbidden": 403, "InvalidProviderToken": 403, "MissingProviderToken": 403,
        "UnrelatedKeyIdInToken": 403, "BadEnvironmentKeyIdInToken": 403,
        "BadPath": 404, "MethodNotAllowed": 405, "ExpiredToken": 410, "Unregistered": 410,
        "PayloadTooLarge": 413, "TooManyProviderTokenUpdates": 429, "TooManyRequests": 429,
        "InternalServerError": 500, "ServiceUnavailable": 503, "Shutdown": 503,
    ]

    init(status: Int, reason: String? = nil, timestamp: UnixMilliseconds? = nil) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
    }

    /// A documented reason with its status.
    init(_ reason: String, timestamp: UnixMilliseconds? = nil) {
        self.init(
            status: Self.statusOfReason[reason] ?? 400,
            reason: reason,
            timestamp: timestamp
        )
    }

    /// The body as Apple writes it; empty for an accepted request.
    var body: [UInt8] {
        guard let reason else { return [] }
        var json = CompactJSON()
        json.object {
            $0.field("reason", reason)
            if let timestamp { $0.field("timestamp", timestamp.milliseconds) }
        }
        return json.bytes
    }
}
