import Contracts

/// What administrators send about accounts, below `/api/mobile/admin/users`.
package enum AccountRequest {
    /// `POST` of a new account.
    package static func addition(_ body: [UInt8]) throws(RequestProblem) -> UserAdd {
        let fields = try RequestFields(parsing: body, exactly: ["username", "password", "role"])
        let request = UserAdd(
            username: try fields.text("username", characters: 1...128),
            password: try fields.password("password", characters: 8...1024),
            role: try fields.choice("role")
        )
        do throws(ContractViolation) {
            try request.checkBounds()
        } catch {
            throw .invalid("\(error).")
        }
        return request
    }

    /// `PUT …/role`
    package static func role(_ body: [UInt8]) throws(RequestProblem) -> Role {
        try RequestFields(parsing: body, exactly: ["role"]).choice("role")
    }

    /// `PUT …/password`
    package static func password(_ body: [UInt8]) throws(RequestProblem) -> Password {
        try RequestFields(parsing: body, exactly: ["password"])
            .password("password", characters: 8...1024)
    }

    /// `PUT …/totp`
    package static func totp(_ body: [UInt8]) throws(RequestProblem) -> Bool {
        try RequestFields(parsing: body, exactly: ["enabled"]).flag("enabled")
    }

    /// The query of `GET`.
    package static func page(_ query: [String: String]) throws(RequestProblem) -> UserList {
        guard query.keys.allSatisfy({ ["after", "limit"].contains($0) }) else {
            throw .invalid("Only these parameters are accepted: after, limit.")
        }
        // Where a page begins need not be anybody's name.
        if query["after"]?.isEmpty == true { throw .invalid("after must not be empty.") }
        var page = UserList(after: query["after"], limit: 100)
        if let text = query["limit"] {
            guard let limit = Int(text), String(limit) == text,
                (1...BusLimits.records).contains(limit)
            else {
                throw .invalid("limit must be a whole number from 1 to \(BusLimits.records).")
            }
            page.limit = limit
        }
        return page
    }
}
