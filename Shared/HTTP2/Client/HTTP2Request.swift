/// One request to be sent over a client connection.
package struct HTTP2Request: Sendable {
    package var method: String
    package var path: String
    /// Sent after the connection's common fields; names in lowercase.
    package var headers: [HTTP2Field]
    package var body: [UInt8]

    package init(
        method: String = "POST",
        path: String,
        headers: [HTTP2Field] = [],
        body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
    }
}

/// A complete answer.
package struct HTTP2Response: Sendable, Hashable {
    package var status: Int
    /// The fields that the connection was told to keep.
    package var headers: [HTTP2Field]
    package var body: [UInt8]
    /// The body was longer than the connection keeps; the rest was dropped.
    package var isBodyTruncated: Bool

    package init(
        status: Int,
        headers: [HTTP2Field] = [],
        body: [UInt8] = [],
        isBodyTruncated: Bool = false
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.isBodyTruncated = isBodyTruncated
    }
}

/// How a request ended; each request gets exactly one.
package enum HTTP2Outcome: Sendable, Hashable {
    /// The peer answered completely.
    case response(HTTP2Response)
    /// The peer provably did not process the request: sending it again cannot repeat anything.
    case notSent(HTTP2NotSent)
    /// The peer may or may not have processed it. `status` is set if an answer had begun.
    case ambiguous(HTTP2Ambiguity, status: Int?)
}

/// Why a request was provably not processed.
package enum HTTP2NotSent: Sendable, Hashable {
    /// The connection is not ready, draining or closed.
    case notReady
    /// No stream is free at the moment; wait for capacity.
    case noCapacity
    /// Method, path, header fields or body are beyond what one request may hold.
    case tooLarge
    /// REFUSED_STREAM, or a stream above the last one that a GOAWAY named.
    case refused
    /// The connection ended or the deadline passed before the first byte was written.
    case neverWritten
    /// The caller was cancelled before the first byte was written.
    case cancelled
}

/// Why nobody knows whether a request was processed.
package enum HTTP2Ambiguity: Sendable, Hashable {
    /// The peer reset the stream with this code.
    case reset(HTTP2ErrorCode)
    /// No complete answer within the request's deadline.
    case timeout
    /// The connection ended after the request was written, wholly or partly.
    case connectionLost
    /// The caller was cancelled after the request was written.
    case cancelled
}

/// The outcome of a request that was submitted with a tag.
package struct HTTP2Completion: Sendable {
    package var tag: UInt64
    package var outcome: HTTP2Outcome
}
