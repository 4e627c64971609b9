/// What is known of a request before its body has arrived.
package struct HTTPRequestHead: Sendable {
    /// The method as sent, for example `POST`.
    package var method: String
    /// The percent-decoded path without the query; `%00` stays as it was sent.
    package var path: String
    /// Decoded query parameters; of a repeated name the last one counts.
    package var query: [String: String]
    package var headers: HTTPHeaders
    /// The protocol as sent, for example `HTTP/1.1`.
    package var version = "HTTP/1.1"
    /// The textual address of the peer, or what the declared trusted proxy says it is.
    package var source: String

    package init(
        method: String,
        path: String,
        query: [String: String] = [:],
        headers: HTTPHeaders = HTTPHeaders(),
        source: String = ""
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.source = source
    }
}

/// A complete request.
package struct HTTPRequest: Sendable {
    package var head: HTTPRequestHead
    package var body: [UInt8]

    package init(head: HTTPRequestHead, body: [UInt8]) {
        self.head = head
        self.body = body
    }
}

/// Header fields in the order they arrived; names compare without regard to ASCII case.
package struct HTTPHeaders: Sendable, ExpressibleByDictionaryLiteral {
    package private(set) var fields: [(name: String, value: String)]

    package init(_ fields: [(name: String, value: String)] = []) {
        self.fields = fields
    }

    package init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { (name: $0.0, value: $0.1) }
    }

    /// The first value of that name.
    package subscript(_ name: String) -> String? {
        fields.first { Self.same($0.name, name) }?.value
    }

    /// Every value of that name, in order.
    package func all(_ name: String) -> [String] {
        fields.filter { Self.same($0.name, name) }.map(\.value)
    }

    package mutating func append(_ name: String, _ value: String) {
        fields.append((name: name, value: value))
    }

    static func same(_ left: String, _ right: String) -> Bool {
        left.utf8.count == right.utf8.count
            && zip(left.utf8, right.utf8).allSatisfy { lowered($0) == lowered($1) }
    }

    private static func lowered(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
    }
}
