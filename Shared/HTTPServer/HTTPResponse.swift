/// A reply, either with a body in memory or with one that is written while it is sent.
package struct HTTPResponse: Sendable {
    package var status: Int
    package var headers: [(String, String)]
    package var body: [UInt8]
    /// When set, `body` is ignored and this closure writes the body chunk by chunk. It runs in a
    /// task of the server that is cancelled when the client leaves or the server stops.
    package var stream: (@Sendable (HTTPStreamWriter) async -> Void)?

    package init(status: Int, headers: [(String, String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// A reply with a JSON text as its body.
    package static func json(
        _ status: Int,
        _ text: some Collection<UInt8>,
        headers: [(String, String)] = []
    ) -> HTTPResponse {
        HTTPResponse(
            status: status,
            headers: [("Content-Type", "application/json")] + headers,
            body: Array(text)
        )
    }

    /// A plain text reply.
    package static func text(_ status: Int, _ text: String) -> HTTPResponse {
        HTTPResponse(
            status: status,
            headers: [("Content-Type", "text/plain; charset=utf-8")],
            body: Array(text.utf8)
        )
    }

    /// A reply of unknown length, for example server-sent events.
    package static func stream(
        status: Int = 200,
        headers: [(String, String)],
        _ body: @escaping @Sendable (HTTPStreamWriter) async -> Void
    ) -> HTTPResponse {
        var response = HTTPResponse(status: status, headers: headers)
        response.stream = body
        return response
    }
}
