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
        name = try fields.text("device_name", bytes: 1...128)
    }
}

/// `POST /api/mobile/auth/login`
package struct LoginRequest: Sendable {
    package let username: String
    package let password: Password
    package let device: SignInDevice

    package init(parsing body: [UInt8]) throws(RequestProblem) {
        let fields = try RequestFields(
            parsing: body,
            exactly: ["username", "password", "installation_id", "device_name"]
        )
        username = try fields.text("username", bytes: 1...128)
        password = try fields.password("password", bytes: 1...1024)
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
        code = try fields.password("code", bytes: 1...128)
        device = try SignInDevice(fields)
    }
}

/// `POST /api/mobile/auth/refresh`
package struct RefreshRequest: Sendable {
    package let token: Password

    package init(parsing body: [UInt8]) throws(RequestProblem) {
        let fields = try RequestFields(parsing: body, exactly: ["refresh_token"])
        token = try fields.password("refresh_token", bytes: 1...256)
    }
}
