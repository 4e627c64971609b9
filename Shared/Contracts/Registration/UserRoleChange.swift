/// `registration.admin.user.role.v1`: another role for an account, from its commit on.
///
/// A `reject.v1` `failed` says that the account is unknown.
package struct UserRoleChange: BusRequest, Hashable {
    package typealias Answer = UserRoleChangeAnswer
    package static let type = "registration.admin.user.role.v1"
    package var username: String
    package var role: Role

    package init(username: String, role: Role) {
        self.username = username
        self.role = role
    }

    package func checkBounds() throws(ContractViolation) {
        try ContractViolation.check(username: username)
    }
}

package struct UserRoleChangeAnswer: BusMessage, Hashable {
    package static let type = "registration.admin.user.role.answer.v1"
    package var userID: UserID
    /// The role before; the same when nothing has changed.
    package var previous: Role

    package init(userID: UserID, previous: Role) {
        self.userID = userID
        self.previous = previous
    }

    enum CodingKeys: String, CodingKey {
        case userID = "user_id"
        case previous
    }
}
