/// Reads one node of a decoded MessagePack value; every getter throws ``ContractViolation`` when
/// the node is of another kind.
package protocol PackedValue {
    /// The value of a map's field, nil when the field is absent or nil. Unknown fields are ignored.
    func field(_ name: StaticString) throws(ContractViolation) -> Self?
    func elements() throws(ContractViolation) -> [Self]
    func integer() throws(ContractViolation) -> Int64
    func text() throws(ContractViolation) -> String
    func binary() throws(ContractViolation) -> [UInt8]
    func flag() throws(ContractViolation) -> Bool
    /// The keys of a map with their values, for maps whose keys are data.
    func entries() throws(ContractViolation) -> [(key: String, value: Self)]
}

extension PackedValue {
    /// The value of a field that must be there.
    package func required(_ name: StaticString) throws(ContractViolation) -> Self {
        guard let value = try field(name) else {
            throw ContractViolation("/\(name)", "is missing")
        }
        return value
    }

    package func identifier<Tag>(
        _ name: StaticString
    ) throws(ContractViolation) -> TextIdentifier<Tag> {
        TextIdentifier(try required(name).text())
    }

    package func uuid<Tag>(_ name: StaticString) throws(ContractViolation) -> UUIDIdentifier<Tag> {
        guard let value = UUIDIdentifier<Tag>(try required(name).text()) else {
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
}

extension PackedValue {
    package func counts(_ name: StaticString) throws(ContractViolation) -> [String: Int64] {
        var counts: [String: Int64] = [:]
        for (reason, value) in try required(name).entries() { counts[reason] = try value.integer() }
        return counts
    }
}
