/// `registration.admin.user.password.v1`: another password; all sessions of the account end.
///
/// A `reject.v1` `failed` says that the account is unknown.
package struct UserPasswordChange: BusRequest {
    package typealias Answer = UserPasswordChangeAnswer
    package static let type = "registration.admin.user.password.v1"
    package var username: String
    package var password: Password

    package init(username: String, password: Password) {
        self.username = username
        self.password = password
    }

    package func checkBounds() throws(ContractViolation) {
        try ContractViolation.check(username: username)
        try ContractViolation.check(password: password)
    }
}

package struct UserPasswordChangeAnswer: BusMessage, Hashable {
    package static let type = "registration.admin.user.password.answer.v1"
    package var userID: UserID
    package var sessionsEnded: Int64

    package init(userID: UserID, sessionsEnded: Int64) {
        self.userID = userID
        self.sessionsEnded = sessionsEnded
    }

    enum CodingKeys: String, CodingKey {
        case userID = "user_id"
        case sessionsEnded = "sessions_ended"
    }
}
