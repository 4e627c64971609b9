/// An opaque identifier that travels as text; `Tag` keeps identifiers of different things apart.
package struct TextIdentifier<Tag>: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let text: String

    /// Takes any text; the contract that carries it states the bounds (see ``isWellFormed``).
    package init(_ text: String) { self.text = text }

    /// Whether the identifier is 1 to 512 bytes long and free of control characters.
    package var isWellFormed: Bool {
        let bytes = text.utf8
        return (1...512).contains(bytes.count) && bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
    }

    package var description: String { text }

    /// Byte order of the UTF-8 text, the order in which audiences are paged.
    package static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }
}

extension TextIdentifier: Codable {
    package init(from decoder: any Decoder) throws {
        text = try decoder.singleValueContainer().decode(String.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// One installation of the app on one phone.
package enum InstallationTag {}
/// One account of a deployment.
package enum UserTag {}
/// One self-hosted server, named by its public URL.
package enum DeploymentTag {}
/// One login of one installation.
package enum SessionTag {}

package typealias InstallationID = TextIdentifier<InstallationTag>
package typealias UserID = TextIdentifier<UserTag>
package typealias DeploymentID = TextIdentifier<DeploymentTag>
package typealias SessionID = TextIdentifier<SessionTag>
