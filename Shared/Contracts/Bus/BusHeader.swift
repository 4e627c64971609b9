/// How a body is written.
package enum BodyContent: String, Codable, Sendable {
    case json
    case messagePack = "msgpack"
}

/// The first frame of every message, always JSON.
package struct BusHeader: Codable, Hashable, Sendable {
    /// Version of the framing itself; only 1 exists.
    package var pushbus: Int
    package var type: String
    /// A UUID made by the sender; a resend keeps it.
    package var id: String
    /// The id of the request this message answers.
    package var re: String?
    package var content: BodyContent
    /// W3C trace context of this hop.
    package var traceparent: String?

    package init(
        type: String,
        id: String,
        re: String? = nil,
        content: BodyContent,
        traceparent: String? = nil
    ) {
        pushbus = 1
        self.type = type
        self.id = id
        self.re = re
        self.content = content
        self.traceparent = traceparent
    }
}
