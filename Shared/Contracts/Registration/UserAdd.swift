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
        try ContractViolation.check(username: username)
        try ContractViolation.check(password: password)
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
