/// What a handler decides from the head alone, before any of the body is read.
package enum HTTPAdmission: Sendable {
    /// Read a body of at most `limit` bytes, then call `respond`.
    case read(limit: Int)
    /// Answer now; `respond` is not called.
    case respond(HTTPResponse)
}

/// Why the server itself answers in place of the handler.
package enum HTTPRefusal: Sendable {
    /// Others could read the head in another way (400); the connection ends.
    case malformed
    /// The body is larger than admitted (413).
    case bodyTooLarge
    /// The body did not arrive in time (408).
    case uploadTimeout
    /// `respond` took longer than the request deadline, or than a stop waits (503).
    case deadline
    /// More requests are being worked on than the server is configured for (503).
    case busy
    /// The server is stopping and has not called `respond` (503).
    case stopping

    package var status: Int {
        switch self {
        case .malformed: 400
        case .bodyTooLarge: 413
        case .uploadTimeout: 408
        case .deadline, .busy, .stopping: 503
        }
    }

    /// A stable word for bodies and counters.
    package var code: String {
        switch self {
        case .malformed: "malformed_request"
        case .bodyTooLarge: "request_too_large"
        case .uploadTimeout: "request_timeout"
        case .deadline: "deadline_exceeded"
        case .busy: "busy"
        case .stopping: "stopping"
        }
    }

    var advice: String {
        switch self {
        case .malformed: "Send one Host and one plain Content-Length, or chunks."
        case .bodyTooLarge: "Send a smaller body."
        case .uploadTimeout: "Send the body faster."
        case .deadline: "The answer took too long; try again later."
        case .busy: "Too many requests at once; try again shortly."
        case .stopping: "The server is stopping; try again shortly."
        }
    }
}

/// Answers requests. One value serves all connections of a server.
package protocol HTTPHandler: Sendable {
    /// Decides from the head alone. Runs on the server's thread and must not block.
    func admit(_ head: HTTPRequestHead) -> HTTPAdmission

    /// Answers a complete request. Its task is cancelled at the request deadline.
    func respond(_ request: HTTPRequest) async -> HTTPResponse

    /// The reply when the server refuses on its own account.
    func refusal(_ refusal: HTTPRefusal, _ head: HTTPRequestHead) -> HTTPResponse

    /// Called exactly once for every request that `admit` let through, after its reply was sent
    /// or its connection was lost. Runs on the server's thread and must not block.
    func ended(_ head: HTTPRequestHead)
}

extension HTTPHandler {
    package func refusal(_ refusal: HTTPRefusal, _ head: HTTPRequestHead) -> HTTPResponse {
        let text = #"{"error":{"code":"\#(refusal.code)","message":"\#(refusal.advice)"}}"#
        let retry = refusal.status == 503 ? [("Retry-After", "1")] : []
        return .json(refusal.status, text.utf8, headers: retry)
    }

    package func ended(_ head: HTTPRequestHead) {}
}
