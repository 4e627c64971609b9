/// An APNs device token in lowercase hex. It is a secret of the phone: descriptions show its length.
package struct DeviceToken: Hashable, Sendable {
    package let hex: String

    /// Takes 2 to 1024 lowercase hex characters of even number. Apple advises not
    /// to assume a length.
    package init?(_ hex: String) {
        let bytes = hex.utf8
        guard
            (2...1024).contains(bytes.count), bytes.count.isMultiple(of: 2),
            Hex.isLowercase(hex)
        else { return nil }
        self.hex = hex
    }
}

extension DeviceToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "‹device token, \(hex.utf8.count) characters›" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension DeviceToken: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let token = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "not a lowercase hex token"
            )
        }
        self = token
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(hex)
    }
}

/// Which of Apple's two push services a token belongs to.
package enum APNsEnvironment: String, Codable, Hashable, CaseIterable, Sendable {
    case sandbox
    case production
}
