import Contracts

/// One reply of `POST /v1/send`.
package struct SendReply: Hashable, Sendable {
    package var status: Int
    package var outcome: Outcome
    package var reason: String
    package var isDeviceInvalid: Bool
    /// Header fields besides content type and cache control.
    package var headers: [Header]

    package struct Header: Hashable, Sendable {
        package let name: String
        package let value: String

        init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The compact JSON body; every part is a plain word, so nothing needs escaping.
    package var body: [UInt8] {
        var json = CompactJSON(reservingBytes: 96)
        json.object {
            $0.field("outcome", outcome.rawValue)
            $0.field("reason", reason)
            $0.key("device_invalid")
            $0.value(isDeviceInvalid)
        }
        return json.bytes
    }

    private init(
        _ status: Int,
        _ outcome: Outcome,
        _ reason: String,
        isDeviceInvalid: Bool = false,
        headers: [Header] = []
    ) {
        self.status = status
        self.outcome = outcome
        self.reason = reason
        self.isDeviceInvalid = isDeviceInvalid
        self.headers = headers
    }

    /// The reply that carries a verdict, with what the body cannot say in headers.
    package init(_ verdict: RelayVerdict) {
        var headers = [
            Header("PushBus-Reason", verdict.reason),
            Header("PushBus-Scope", verdict.scope.rawValue),
            Header("PushBus-Exposure", verdict.exposure.rawValue),
        ]
        if let cleanup = verdict.cleanup {
            headers.append(Header("PushBus-Cleanup", cleanup.rawValue))
        }
        if let timestamp = verdict.apnsTimestamp {
            headers.append(Header("PushBus-APNs-Timestamp", String(timestamp.milliseconds)))
        }
        if let wait = verdict.retryAfterMilliseconds, verdict.outcome == .retryable, wait > 0 {
            // Whole seconds, rounded up.
            headers.append(Header("Retry-After", String((wait - 1) / 1000 + 1)))
        }
        let status =
            switch verdict.publicReason {
            case "InvalidRequest", "EnvironmentDisabled": 400
            case "RelayNotConfigured", "RelayBusy": 503
            default: 200
            }
        self.init(
            status,
            verdict.outcome,
            verdict.publicReason,
            isDeviceInvalid: verdict.isDeviceInvalid,
            headers: headers
        )
    }

    package static let notFound = SendReply(404, .permanent, "NotFound")
    package static let methodNotAllowed = SendReply(
        405,
        .permanent,
        "MethodNotAllowed",
        headers: [Header("Allow", "POST")]
    )
    package static let unsupportedMediaType = SendReply(415, .permanent, "UnsupportedMediaType")
    package static let requestTooLarge = SendReply(413, .permanent, "RequestTooLarge")
    package static let requestTimeout = SendReply(408, .retryable, "RequestTimeout")
    package static let rateLimited = SendReply(
        429,
        .retryable,
        "RateLimited",
        headers: [Header("PushBus-Scope", "relay"), Header("Retry-After", "60")]
    )
    package static let busy = SendReply(.busy())
    package static let notConfigured = SendReply(.notConfigured)
    package static let invalidRequest = SendReply(.invalidRequest)
}
