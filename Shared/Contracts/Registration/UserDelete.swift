/// `registration.admin.user.delete.v1`: an account goes, with its sessions and registrations.
///
/// A `reject.v1` `failed` says that the account is unknown.
package struct UserDelete: BusRequest, Hashable {
    package typealias Answer = UserDeleteAnswer
    package static let type = "registration.admin.user.delete.v1"
    package var username: String
    package init(username: String) { self.username = username }

    package func checkBounds() throws(ContractViolation) {
        try ContractViolation.check(username: username)
    }
}

package struct UserDeleteAnswer: BusMessage, Hashable {
    package static let type = "registration.admin.user.delete.answer.v1"
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
