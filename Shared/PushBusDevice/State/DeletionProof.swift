/// What can end one session at its server and do nothing else, also after it has expired. It has no
/// description.
package struct DeletionProof: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }
}

extension DeletionProof: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "‹deletion proof›" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension DeletionProof: Codable {
    package init(from decoder: any Decoder) throws {
        text = try decoder.singleValueContainer().decode(String.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
