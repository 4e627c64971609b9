/// One request; every wait and size in it is bounded.
package struct HTTPClientRequest: Sendable {
    package var method: String
    /// An absolute `http` or `https` URL.
    package var url: String
    package var headers: [(String, String)]
    package var body: [UInt8]
    /// From the call to the last byte of the reply.
    package var timeout: Duration
    /// Nothing of the request is written later than this after the call, repeats included: what is
    /// not written wholly by then ends with `tooLate`. No such bound when nil.
    package var writeWithin: Duration?
    /// A larger reply ends the request with `replyTooLarge`.
    package var maximumReplyBytes: Int

    package init(
        method: String = "GET",
        url: String,
        headers: [(String, String)] = [],
        body: [UInt8] = [],
        timeout: Duration = .seconds(15),
        writeWithin: Duration? = nil,
        maximumReplyBytes: Int = 1_048_576
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.writeWithin = writeWithin
        self.maximumReplyBytes = maximumReplyBytes
    }
}

/// A reply of any status; a redirect is a reply like any other.
package struct HTTPClientResponse: Sendable {
    package var status: Int
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]

    package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The first value of a header; names compare without regard to case.
    package func header(_ name: String) -> String? {
        let wanted = name.lowercased()
        return headers.first { $0.name.lowercased() == wanted }?.value
    }
}

/// Why there is no reply. Texts name neither URL nor header nor body.
package struct HTTPClientError: Error, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// The request itself is wrong: URL, scheme, a line break in a header.
        case invalidRequest
        case cannotResolve
        case cannotConnect
        /// Handshake or certificate verification failed.
        case tlsFailed
        case timeout
        /// The request could not be written within its bound.
        case tooLate
        case replyTooLarge
        case connectionLost
        case cancelled
        /// The client was stopped.
        case stopped
    }

    package let code: Code
    /// What happened and what to do about it.
    package let message: String
    /// libcurl's result code, 0 when the failure is not from there.
    package let curlCode: UInt32
    /// Whether the peer may have received the request: whether any of it was written, also over an
    /// earlier connection when libcurl sent it again by itself.
    package internal(set) var mayHaveArrived = false

    init(_ code: Code, _ message: String, curlCode: UInt32 = 0) {
        self.code = code
        self.message = message
        self.curlCode = curlCode
    }

    /// Whether the same request may succeed later without any change.
    package var isRetriable: Bool {
        switch code {
        case .cannotResolve, .cannotConnect, .timeout, .tooLate, .connectionLost: true
        case .invalidRequest, .tlsFailed, .replyTooLarge, .cancelled, .stopped: false
        }
    }

    package var description: String { "\(code.rawValue): \(message)" }
}

/// Settings that all requests of a client share.
package struct HTTPClientConfiguration: Sendable {
    /// A PEM file of the only authorities to trust; the system's when nil.
    package var caFile: String?
    package var connectTimeout: Duration
    /// Open connections kept for reuse.
    package var maximumConnections: Int
    package var maximumConnectionsPerHost: Int
    package var userAgent: String
    /// Whether HTTP/2 is offered over TLS; requests then share a connection if the peer takes it.
    package var offersHTTP2 = false

    package init(
        caFile: String? = nil,
        connectTimeout: Duration = .seconds(5),
        maximumConnections: Int = 64,
        maximumConnectionsPerHost: Int = 32,
        userAgent: String = "PushBus"
    ) {
        self.caFile = caFile
        self.connectTimeout = connectTimeout
        self.maximumConnections = maximumConnections
        self.maximumConnectionsPerHost = maximumConnectionsPerHost
        self.userAgent = userAgent
    }
}
