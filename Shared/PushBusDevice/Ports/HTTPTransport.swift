/// How requests leave the phone; the app implements it with its platform's client.
///
/// An implementation trusts the system's certificate authorities only, follows no redirect (it
/// returns the 3xx reply), keeps no cookies and no cache, and gives up after the request's timeout.
package protocol HTTPTransport: Sendable {
    func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportReply
}

/// One request to the server.
package struct TransportRequest: Sendable {
    package var method: String
    package var url: String
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    package var timeoutSeconds: Int
    /// Bytes of reply body after which the transport gives up.
    package var maximumReplyBytes: Int
}

/// What the server answered.
package struct TransportReply: Sendable {
    package var status: Int
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]

    package init(
        status: Int,
        headers: [(name: String, value: String)] = [],
        body: [UInt8] = []
    ) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The first header of that name, compared without case.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// Why no reply came; the text says what happened and holds nothing of the request.
package struct TransportFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package var description: String

    package init(_ description: String) { self.description = description }
}
