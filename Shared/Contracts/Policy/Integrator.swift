/// Somebody who publishes events: what its key lets it publish.
///
/// On the bus the id is the principal's name in the allow-list; over HTTP it belongs to the key.
package struct Integrator: Codable, Hashable, Sendable {
    package var id: String
    package var name: String
    package var isEnabled: Bool
    /// CloudEvents sources, each a text that may end in `*`.
    package var sources: [String]
    /// Event types, each a text that may end in `*`.
    package var types: [String]
    /// SHA-256 of each of its bearer keys, in lowercase hexadecimal.
    package var keyHashes: [String]

    package init(
        id: String,
        name: String,
        isEnabled: Bool = true,
        sources: [String],
        types: [String],
        keyHashes: [String] = []
    ) {
        self.id = id
        self.name = name
        self.isEnabled = isEnabled
        self.sources = sources
        self.types = types
        self.keyHashes = keyHashes
    }

    enum CodingKeys: String, CodingKey {
        case id
        case name
        case isEnabled = "enabled"
        case sources
        case types
        case keyHashes = "key_hashes"
    }

    /// Whether it may publish an event of this source and type now.
    package func may(publish type: String, from source: String) -> Bool {
        isEnabled && Self.any(sources, source) && Self.any(types, type)
    }

    private static func any(_ patterns: [String], _ text: String) -> Bool {
        patterns.contains { pattern in
            pattern.hasSuffix("*") ? text.hasPrefix(pattern.dropLast()) : pattern == text
        }
    }

    package func checkBounds() throws(ContractViolation) {
        try PolicyBounds.identifier(id, "/id")
        try PolicyBounds.identifier(name, "/name")
        try ContractViolation.check(
            sources.count <= 100 && types.count <= 100 && keyHashes.count <= 10,
            "",
            "must hold at most 100 sources, 100 types and 10 keys"
        )
        try PolicyBounds.identifiers(sources, "/sources")
        try PolicyBounds.identifiers(types, "/types")
        for (index, hash) in keyHashes.enumerated() {
            try ContractViolation.check(
                hash.utf8.count == 64
                    && hash.utf8.allSatisfy {
                        (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
                    },
                "/key_hashes/\(index)",
                "must be a SHA-256 in 64 lowercase hexadecimal digits"
            )
        }
    }
}
