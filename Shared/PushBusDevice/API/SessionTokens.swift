import Contracts

/// The two tokens of a login. They have no description and no mirror.
package struct SessionTokens: Hashable, Sendable {
    package var access: String
    /// Works once; the next one comes with every refresh.
    package var refresh: String
    package var accessExpiresAt: UnixSeconds

    package init(access: String, refresh: String, accessExpiresAt: UnixSeconds) {
        self.access = access
        self.refresh = refresh
        self.accessExpiresAt = accessExpiresAt
    }
}

extension SessionTokens: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "‹session tokens›" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension SessionTokens: Codable {
    enum CodingKeys: String, CodingKey {
        case access
        case refresh
        case accessExpiresAt = "access_expires_at"
    }
}
