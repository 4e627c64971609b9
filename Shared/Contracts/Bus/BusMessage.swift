/// A message with a name that carries its version, such as `delivery.enqueue.v1`.
///
/// `Schemas/<type>.json` describes its JSON form. Adding an optional field keeps the type; any other
/// change is a new type.
package protocol BusMessage: Codable, Sendable {
    static var type: String { get }

    /// Checks what the field types alone do not: sizes, counts and ranges.
    func checkBounds() throws(ContractViolation)
}

extension BusMessage {
    package func checkBounds() throws(ContractViolation) {}
}

/// A message that somebody answers.
package protocol BusRequest: BusMessage {
    associatedtype Answer: BusMessage
}

/// A batch message of a hot link: the same fields in MessagePack, bytes as bin instead of base64.
package protocol PackedMessage: BusMessage {
    func pack(into packer: any Packer)
    init(packed value: PackedValue) throws(ContractViolation)
}

/// Bounds that every peer of the bus keeps.
package enum BusLimits {
    /// Frames of a message, not counting an empty delimiter.
    package static let frames = 4
    /// Bytes of a message, all frames together.
    package static let messageBytes = 1 << 20
    /// Records of a batch.
    package static let records = 512
    /// Bytes of one CloudEvent.
    package static let eventBytes = 64 << 10

    /// Checks the `limit` of a query that is answered page by page.
    static func checkPage(_ limit: Int) throws(ContractViolation) {
        try ContractViolation.check(
            (1...records).contains(limit),
            "/limit",
            "must be 1 to \(records)"
        )
    }
}
