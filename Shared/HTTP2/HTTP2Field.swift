/// One header field; names are lowercase (RFC 9113 section 8.2).
package struct HTTP2Field: Sendable, Hashable {
    /// Whether the field may enter the peer's HPACK table (RFC 7541 section 6.2).
    package enum Indexing: Sendable, Hashable {
        /// The library decides; right for values that come again and again.
        case automatic
        /// Never: right for values that differ with each request, which would evict useful ones.
        case none
    }

    package var name: String
    package var value: String
    package var indexing: Indexing

    package init(_ name: String, _ value: String, indexing: Indexing = .automatic) {
        self.name = name
        self.value = value
        self.indexing = indexing
    }
}

extension [HTTP2Field] {
    /// Value of the first field of that lowercase name.
    package subscript(_ name: String) -> String? {
        first { $0.name == name }?.value
    }
}
