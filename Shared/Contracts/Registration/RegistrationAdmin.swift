/// `registration.admin.user.add.v1`: a new account.
package struct UserAdd: BusRequest {
    package typealias Answer = UserAddAnswer
    package static let type = "registration.admin.user.add.v1"

    package var username: String
    package var password: Password
    package var role: Role

    package init(username: String, password: Password, role: Role) {
        self.username = username
        self.password = password
        self.role = role
    }

    package func checkBounds() throws(ContractViolation) {
        try ContractViolation.check(
            (1...128).contains(username.utf8.count)
                && username.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f },
            "/username",
            "must be 1 to 128 bytes without spaces and control characters"
        )
        try ContractViolation.check(
            (8...1024).contains(password.text.utf8.count),
            "/password",
            "must be 8 to 1024 bytes"
        )
    }
}

package struct UserAddAnswer: BusMessage, Hashable {
    package static let type = "registration.admin.user.add.answer.v1"
    package var userID: UserID
    /// False when the account exists already; nothing was changed then.
    package var added: Bool

    package init(userID: UserID, added: Bool) {
        self.userID = userID
        self.added = added
    }

    enum CodingKeys: String, CodingKey {
        case userID = "user_id"
        case added
    }
}

/// `registration.admin.pair.v1`: a pairing code for an account.
package struct PairingCreate: BusRequest, Hashable {
    package typealias Answer = PairingCreateAnswer
    package static let type = "registration.admin.pair.v1"
    package var username: String
    package init(username: String) { self.username = username }
}

/// The code is shown once and works once; a `reject.v1` `failed` says that the account is unknown.
package struct PairingCreateAnswer: BusMessage {
    package static let type = "registration.admin.pair.answer.v1"
    package var code: Password
    /// Where the phone trades it.
    package var serverURL: String
    package var expiresAt: UnixSeconds

    package init(code: Password, serverURL: String, expiresAt: UnixSeconds) {
        self.code = code
        self.serverURL = serverURL
        self.expiresAt = expiresAt
    }

    enum CodingKeys: String, CodingKey {
        case code
        case serverURL = "server_url"
        case expiresAt = "expires_at"
    }
}

/// A password, pairing code or token in clear text, on its way to be hashed: no description.
package struct Password: Codable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    package let text: String
    package init(_ text: String) { self.text = text }

    package var description: String { "‹password›" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }

    package init(from decoder: any Decoder) throws {
        text = try decoder.singleValueContainer().decode(String.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
