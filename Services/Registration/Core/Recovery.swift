import Contracts

/// A short authorization to look at the sessions of one account on one installation and to end one
/// that is chosen. It signs nobody in.
package struct Recovery: Hashable, Sendable {
    /// How long it lasts, in seconds.
    package static let lifetimeSeconds: Int64 = 300

    package let userID: UserID
    package let installationID: InstallationID

    package init(userID: UserID, installationID: InstallationID) {
        self.userID = userID
        self.installationID = installationID
    }

    /// `POST /api/mobile/auth/recovery`: the account is verified anew.
    package struct Request: Sendable {
        package enum Evidence: Sendable {
            case password(Credentials)
            case code(Password)
        }

        package let evidence: Evidence
        package let installationID: InstallationID

        package init(parsing body: [UInt8]) throws(RequestProblem) {
            let names: Set<String> = ["username", "password", "installation_id"]
            let (fields, form) = try RequestFields.parse(
                body,
                asOneOf: [names, names.union(["one_time_code"]), ["code", "installation_id"]]
            )
            evidence =
                try form == 2
                ? .code(fields.password("code", characters: 1...128))
                : .password(Credentials(fields, hasCode: form == 1))
            installationID = try fields.installation("installation_id")
        }
    }
}
