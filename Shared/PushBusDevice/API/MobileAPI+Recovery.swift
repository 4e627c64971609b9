import Contracts

extension MobileAPI {
    /// A short-lived authorization to list and end an account's sessions on one installation. It is
    /// kept in memory only.
    package struct Recovery: Sendable {
        package var token: Password
        package var userID: UserID
        package var installationID: InstallationID
    }

    private struct RecoveryReply: Decodable {
        var token: Password
        var userID: UserID
        var installationID: InstallationID

        enum CodingKeys: String, CodingKey {
            case token = "recovery_token"
            case userID = "user_id"
            case installationID = "installation_id"
        }
    }

    private struct SessionsReply: Decodable {
        var sessions: [SignedInDevice]
    }

    /// Verifies an account anew.
    package func openRecovery(
        _ method: SignIn,
        installation: InstallationID
    ) async throws(DeviceError) -> Recovery {
        var members = method.members
        members["installation_id"] = .string(installation.text)
        let reply: RecoveryReply = try await call(
            "POST",
            "/api/mobile/auth/recovery",
            body: JSONValue.object(members)
        )
        return Recovery(
            token: reply.token,
            userID: reply.userID,
            installationID: reply.installationID
        )
    }

    /// The sessions of that account on that installation, expired ones too.
    package func sessions(_ recovery: Recovery) async throws(DeviceError) -> [SignedInDevice] {
        let reply: SessionsReply = try await call(
            "GET",
            "/api/mobile/auth/recovery/sessions",
            bearer: recovery.token.text
        )
        return reply.sessions
    }

    /// Ends exactly that session.
    package func end(
        _ session: SessionID,
        _ recovery: Recovery
    ) async throws(DeviceError) {
        try await confirm(
            "DELETE",
            "/api/mobile/auth/recovery/sessions/\(session.pathSegment)",
            bearer: recovery.token.text
        )
    }
}
