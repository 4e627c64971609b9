import Contracts

/// Reads the fields of an event's `data`, with pointers that lead into the event.
struct DataReader {
    private let members: [String: JSONValue]

    /// Longest identifier inside data, in bytes.
    static let identifierBytes = 512

    init(_ data: JSONValue) throws(ContractViolation) {
        guard case .object(let members) = data else {
            throw ContractViolation("/data", "must be a JSON object")
        }
        self.members = members.filter { $0.value != .null }
    }

    private func text(_ name: String) throws(ContractViolation) -> String? {
        guard let value = members[name] else { return nil }
        guard case .string(let text) = value else {
            throw ContractViolation("/data/\(name)", "must be a string")
        }
        return text
    }

    /// A text for people, of any length the event's bound allows.
    func label(_ name: String) throws(ContractViolation) -> String {
        guard let text = try text(name), !text.isEmpty else {
            throw ContractViolation("/data/\(name)", "is missing; give a non-empty string")
        }
        return text
    }

    func identifier(_ name: String) throws(ContractViolation) -> String {
        guard let text = try optionalIdentifier(name), !text.isEmpty else {
            throw ContractViolation("/data/\(name)", "is missing; give a non-empty string")
        }
        return text
    }

    func optionalIdentifier(_ name: String) throws(ContractViolation) -> String? {
        guard let text = try text(name) else { return nil }
        try ContractViolation.check(
            text.utf8.count <= Self.identifierBytes
                && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f },
            "/data/\(name)",
            "must be at most \(Self.identifierBytes) bytes without control characters"
        )
        return text
    }

    /// A number of things that happened, at least one.
    func count(_ name: String) throws(ContractViolation) -> Int64 {
        guard let count = members[name]?.integer, count > 0 else {
            throw ContractViolation("/data/\(name)", "must be a positive integer")
        }
        return count
    }

    func flag(_ name: String) throws(ContractViolation) -> Bool {
        guard case .bool(let flag)? = members[name] else {
            throw ContractViolation("/data/\(name)", "must be true or false")
        }
        return flag
    }

    func identifiers(_ name: String) throws(ContractViolation) -> [String] {
        guard case .array(let values)? = members[name] else {
            throw ContractViolation("/data/\(name)", "must be an array of strings")
        }
        var texts: [String] = []
        for (index, value) in values.enumerated() {
            let text = value.string ?? ""
            try ContractViolation.check(
                TextIdentifier<DataReader>(text).isWellFormed,
                "/data/\(name)/\(index)",
                "must be 1 to \(Self.identifierBytes) bytes without control characters"
            )
            texts.append(text)
        }
        return texts
    }

    func uuid<Tag>(_ name: String) throws(ContractViolation) -> UUIDIdentifier<Tag> {
        guard let id = UUIDIdentifier<Tag>(try identifier(name)) else {
            throw ContractViolation("/data/\(name)", "must be a lowercase UUID")
        }
        return id
    }

    /// A time that stays text because it is part of an identity.
    func timestampText(_ name: String) throws(ContractViolation) -> String {
        let text = try identifier(name)
        try ContractViolation.check(
            RFC3339.parse(text) != nil,
            "/data/\(name)",
            "must be an RFC 3339 time with an offset, such as 2026-05-04T03:02:01Z"
        )
        return text
    }
}
