import Contracts

/// Which phone wants a session.
package struct SignInDevice: Hashable, Sendable {
    package let installationID: InstallationID
    /// What people call the phone.
    package let name: String

    package init(installationID: InstallationID, name: String) {
        self.installationID = installationID
        self.name = name
    }

    init(_ fields: RequestFields) throws(RequestProblem) {
        installationID = try fields.installation("installation_id")
        name = try fields.text("device_name", characters: 1...128)
    }
}

/// What an account shows to be let in.
package struct Credentials: Sendable {
    package let username: String
    package let password: Password
    /// Six digits of the authenticator app, for accounts that ask for them.
    package let oneTimeCode: Password?

    init(_ fields: RequestFields, hasCode: Bool) throws(RequestProblem) {
        username = try fields.text("username", characters: 1...128)
        password = try fields.password("password", characters: 1...1024)
        oneTimeCode = try hasCode ? fields.password("one_time_code", characters: 6...6) : nil
    }
}

/// `POST /api/mobile/auth/login`
package struct LoginRequest: Sendable {
    package let credentials: Credentials
    package let device: SignInDevice

    package init(parsing body: [UInt8]) throws(RequestProblem) {
        let names: Set<String> = ["username", "password", "installation_id", "device_name"]
        let (fields, form) = try RequestFields.parse(
            body,
            asOneOf: [names, names.union(["one_time_code"])]
        )
        credentials = try Credentials(fields, hasCode: form == 1)
        device = try SignInDevice(fields)
    }
}

/// `POST /api/mobile/auth/pair`
package struct PairRequest: Sendable {
    package let code: Password
    package let device: SignInDevice

    package init(parsing body: [UInt8]) throws(RequestProblem) {
        let fields = try RequestFields(
            parsing: body,
            exactly: ["code", "installation_id", "device_name"]
        )
        code = try fields.password("code", characters: 1...128)
        device = try SignInDevice(fields)
    }
}

/// `POST /api/mobile/auth/refresh`
package struct RefreshRequest: Sendable {
    package let token: Password

    package init(parsing body: [UInt8]) throws(RequestProblem) {
        let fields = try RequestFields(parsing: body, exactly: ["refresh_token"])
        token = try fields.password("refresh_token", characters: 1...256)
    }
}
