/// `registration.admin.user.list.v1`: a page of the accounts, by name in byte order.
package struct UserList: BusRequest, Hashable {
    package typealias Answer = UserListAnswer
    package static let type = "registration.admin.user.list.v1"
    /// The last name of the page before.
    package var after: String?
    package var limit: Int

    package init(after: String? = nil, limit: Int = BusLimits.records) {
        self.after = after
        self.limit = limit
    }

    package func checkBounds() throws(ContractViolation) {
        if let after { try ContractViolation.check(username: after, "/after") }
        try ContractViolation.check(
            (1...BusLimits.records).contains(limit),
            "/limit",
            "must be 1 to 512"
        )
    }
}

package struct UserListAnswer: BusMessage, Hashable {
    package static let type = "registration.admin.user.list.answer.v1"

    package struct User: Codable, Hashable, Sendable {
        package var userID: UserID
        package var username: String
        package var role: Role
        package var createdAt: UnixSeconds
        /// Live sessions.
        package var devices: Int64
        /// Whether a one-time code is asked for at sign-in.
        package var totp: Bool

        package init(
            userID: UserID,
            username: String,
            role: Role,
            createdAt: UnixSeconds,
            devices: Int64,
            totp: Bool
        ) {
            self.userID = userID
            self.username = username
            self.role = role
            self.createdAt = createdAt
            self.devices = devices
            self.totp = totp
        }

        enum CodingKeys: String, CodingKey {
            case userID = "user_id"
            case username, role
            case createdAt = "created_at"
            case devices, totp
        }
    }

    package var users: [User]
    /// Whether there are more after the last one.
    package var more: Bool

    package init(users: [User], more: Bool) {
        self.users = users
        self.more = more
    }
}
