/// `ack.v1`: the receiver has committed what the request asked for; there is nothing to add.
package struct Ack: BusMessage, Hashable {
    package static let type = "ack.v1"
    package init() {}
}

/// Why a request was refused; the list is closed for a version of `reject.v1`.
package enum RejectCode: String, Codable, Sendable {
    case unsupportedVersion = "unsupported_version"
    case unsupportedType = "unsupported_type"
    /// The receiver reads JSON alone: send the same request as JSON.
    case unsupportedContent = "unsupported_content"
    case malformed
    case tooLarge = "too_large"
    case notPermitted = "not_permitted"
    /// Nothing is wrong with the request: send it again after `retry_after_ms`.
    case retryAfter = "retry_after"
    case failed
}

/// `reject.v1`: a request that was not carried out.
package struct Reject: BusMessage, Error, Hashable {
    package static let type = "reject.v1"

    package var code: RejectCode
    /// What to do about it, for people.
    package var message: String
    package var retryAfterMilliseconds: Int64?
    /// JSON pointer (RFC 6901) to the offending part of the body.
    package var pointer: String?

    package init(
        _ code: RejectCode,
        _ message: String,
        retryAfterMilliseconds: Int64? = nil,
        pointer: String? = nil
    ) {
        self.code = code
        self.message = message
        self.retryAfterMilliseconds = retryAfterMilliseconds
        self.pointer = pointer
    }

    enum CodingKeys: String, CodingKey {
        case code
        case message
        case retryAfterMilliseconds = "retry_after_ms"
        case pointer
    }
}
