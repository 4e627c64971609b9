import Contracts

extension MobileAPI {
    /// What login, pairing and refresh answer; times are relative, so that the phone's clock may
    /// differ from the server's.
    private struct SessionReply: Decodable {
        var sessionID: SessionID
        var userID: UserID
        var role: Role
        var deploymentID: DeploymentID
        var accessToken: String
        var refreshToken: String
        /// Seconds until the access token ends.
        var expiresIn: Int64
        var sessionExpiresAt: UnixSeconds?

        enum CodingKeys: String, CodingKey {
            case sessionID = "session_id"
            case userID = "user_id"
            case role
            case deploymentID = "deployment_id"
            case accessToken = "access_token"
            case refreshToken = "refresh_token"
            case expiresIn = "expires_in"
            case sessionExpiresAt = "session_expires_at"
        }
    }

    /// Trades a password or a pairing code for a session.
    package func signIn(
        _ method: SignIn,
        installation: InstallationID,
        deviceName: String,
        now: UnixSeconds
    ) async throws(DeviceError) -> Session {
        var members = method.members
        members["installation_id"] = .string(installation.text)
        members["device_name"] = .string(deviceName)
        let path =
            switch method {
            case .password: "/api/mobile/auth/login"
            case .pairing: "/api/mobile/auth/pair"
            }
        let reply: SessionReply = try await call("POST", path, body: JSONValue.object(members))
        return session(reply, installation: installation, now: now)
    }

    /// Trades the refresh token for the next pair; the old one is used up from here on.
    package func refresh(
        _ session: Session,
        now: UnixSeconds
    ) async throws(DeviceError) -> Session {
        let reply: SessionReply = try await call(
            "POST",
            "/api/mobile/auth/refresh",
            body: JSONValue.object(["refresh_token": .string(session.tokens.refresh)])
        )
        return self.session(reply, installation: session.installationID, now: now)
    }

    /// Ends the session at the server.
    package func logout(_ access: String) async throws(DeviceError) {
        try await call(
            "POST",
            "/api/mobile/auth/logout",
            bearer: access,
            body: JSONValue.object([:])
        )
    }

    private func session(
        _ reply: SessionReply,
        installation: InstallationID,
        now: UnixSeconds
    ) -> Session {
        Session(
            server: address.text,
            sessionID: reply.sessionID,
            userID: reply.userID,
            deploymentID: reply.deploymentID,
            role: reply.role,
            installationID: installation,
            tokens: SessionTokens(
                access: reply.accessToken,
                refresh: reply.refreshToken,
                accessExpiresAt: now.adding(seconds: max(0, reply.expiresIn))
            ),
            endsAt: reply.sessionExpiresAt
        )
    }
}

extension SignIn {
    /// What is sent to show who somebody is.
    var members: [String: JSONValue] {
        switch self {
        case .password(let username, let password, let oneTimeCode):
            var members: [String: JSONValue] = [
                "username": .string(username), "password": .string(password.text),
            ]
            if let oneTimeCode { members["one_time_code"] = .string(oneTimeCode.text) }
            return members
        case .pairing(let code): return ["code": .string(code.text)]
        }
    }
}
