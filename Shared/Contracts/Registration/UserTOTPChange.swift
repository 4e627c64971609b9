/// `registration.admin.user.totp.v1`: one-time codes at sign-in, on with a new secret or off.
///
/// A `reject.v1` `failed` says that the account is unknown.
package struct UserTOTPChange: BusRequest, Hashable {
    package typealias Answer = UserTOTPChangeAnswer
    package static let type = "registration.admin.user.totp.v1"
    package var username: String
    package var enabled: Bool

    package init(username: String, enabled: Bool) {
        self.username = username
        self.enabled = enabled
    }

    package func checkBounds() throws(ContractViolation) {
        try ContractViolation.check(username: username)
    }
}

package struct UserTOTPChangeAnswer: BusMessage {
    package static let type = "registration.admin.user.totp.answer.v1"
    package var userID: UserID
    /// The `otpauth` URI with the new secret, shown once; nil when codes are off.
    package var uri: Password?

    package init(userID: UserID, uri: Password? = nil) {
        self.userID = userID
        self.uri = uri
    }

    enum CodingKeys: String, CodingKey {
        case userID = "user_id"
        case uri
    }
}
