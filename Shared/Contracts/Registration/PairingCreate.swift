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
