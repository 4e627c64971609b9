/// What reads the nodes of a decoded MessagePack value; `Bus` implements it over its MessagePack
/// library. Nodes, and the bytes they lend, live as long as their message.
package protocol PackedReader {
    /// The value of a map's field, nil when the field is absent or nil. Unknown fields are ignored.
    static func field(
        _ name: StaticString,
        of node: UnsafeRawPointer
    ) throws(ContractViolation) -> UnsafeRawPointer?
    static func elements(of node: UnsafeRawPointer) throws(ContractViolation) -> [UnsafeRawPointer]
    static func integer(_ node: UnsafeRawPointer) throws(ContractViolation) -> Int64
    /// The bytes of a text, which may be no UTF-8.
    static func text(_ node: UnsafeRawPointer) throws(ContractViolation) -> UnsafeRawBufferPointer
    static func binary(_ node: UnsafeRawPointer) throws(ContractViolation) -> UnsafeRawBufferPointer
    static func flag(_ node: UnsafeRawPointer) throws(ContractViolation) -> Bool
    /// The keys of a map with their values, for maps whose keys are data.
    static func entries(
        of node: UnsafeRawPointer
    ) throws(ContractViolation) -> [(key: UnsafeRawPointer, value: UnsafeRawPointer)]
}

/// One node of a decoded MessagePack value; every getter throws ``ContractViolation`` when the node is
/// of another kind.
///
/// A type of its own rather than a generic parameter: messages are read in this module for a reader
/// in another, where generic code runs unspecialised and takes several times as long.
package struct PackedValue {
    private let node: UnsafeRawPointer
    private let reader: any PackedReader.Type

    /// Valid as long as the message that the node is of.
    package init(_ node: UnsafeRawPointer, _ reader: any PackedReader.Type) {
        self.node = node
        self.reader = reader
    }

    /// The value of a map's field, nil when the field is absent or nil. Unknown fields are ignored.
    package func field(_ name: StaticString) throws(ContractViolation) -> PackedValue? {
        guard let found = try reader.field(name, of: node) else { return nil }
        return PackedValue(found, reader)
    }

    /// The value of a field that must be there.
    package func required(_ name: StaticString) throws(ContractViolation) -> PackedValue {
        guard let value = try field(name) else {
            throw ContractViolation("/\(name)", "is missing")
        }
        return value
    }

    package func elements() throws(ContractViolation) -> [PackedValue] {
        let reader = reader
        return try reader.elements(of: node).map { PackedValue($0, reader) }
    }

    package func integer() throws(ContractViolation) -> Int64 { try reader.integer(node) }

    package func text() throws(ContractViolation) -> String {
        guard let text = String(validating: try reader.text(node), as: UTF8.self) else {
            throw ContractViolation("", "must be UTF-8")
        }
        return text
    }

    package func binary() throws(ContractViolation) -> [UInt8] {
        [UInt8](try reader.binary(node))
    }

    package func flag() throws(ContractViolation) -> Bool { try reader.flag(node) }

    package func identifier<Tag>(
        _ name: StaticString
    ) throws(ContractViolation) -> TextIdentifier<Tag> {
        TextIdentifier(try required(name).text())
    }

    package func uuid<Tag>(_ name: StaticString) throws(ContractViolation) -> UUIDIdentifier<Tag> {
        let text = try reader.text(try required(name).node)
        guard let value = UUIDIdentifier<Tag>(text: text) else {
            throw ContractViolation("/\(name)", "is not a lowercase UUID")
        }
        return value
    }

    package func choice<Choice: RawRepresentable<String>>(
        _ name: StaticString
    ) throws(ContractViolation) -> Choice {
        guard let value = Choice(rawValue: try required(name).text()) else {
            throw ContractViolation("/\(name)", "is not one of the known words")
        }
        return value
    }

    package func counts(_ name: StaticString) throws(ContractViolation) -> [String: Int64] {
        var counts: [String: Int64] = [:]
        for (key, value) in try reader.entries(of: try required(name).node) {
            counts[try PackedValue(key, reader).text()] = try reader.integer(value)
        }
        return counts
    }
}
