/// Why something the phone asked for did not happen; it carries no secret.
package struct DeviceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of obstacle it was; open-ended, with a stable name for records.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        package let name: String
        package var description: String { name }
    }

    package var code: Code
    /// Says what to do about it.
    package var message: String
    /// HTTP status of the reply, where there was one.
    package var status: Int?
    /// The server's own word for it, such as `not_enabled`.
    package var serverCode: String?
    package var retryAfterSeconds: Int?

    package init(
        _ code: Code,
        _ message: String,
        status: Int? = nil,
        serverCode: String? = nil,
        retryAfterSeconds: Int? = nil
    ) {
        self.code = code
        self.message = message
        self.status = status
        self.serverCode = serverCode
        self.retryAfterSeconds = retryAfterSeconds
    }

    /// Whether the same request may succeed later.
    package var isRetriable: Bool { code.isRetriable }

    package var description: String {
        let origin = [status.map { "HTTP \($0)" }, serverCode].compactMap(\.self)
        let suffix = origin.isEmpty ? "" : " (\(origin.joined(separator: ", ")))"
        return "\(code.name): \(message)\(suffix)"
    }

    static func address(_ rule: String) -> Self { Self(.address, "the server's address \(rule)") }

    static func storage(_ what: String) -> Self {
        Self(.storage, "\(what): check the phone's storage and try again")
    }

    static let signedOut = Self(.signedOut, "nobody is signed in: sign in or pair first")

    static let superseded = Self(
        .superseded,
        "the login changed meanwhile: nothing of the reply was kept"
    )

    package static let recoverSession = Self(
        .recoverSession,
        "the server no longer accepts this phone's login: recover the session first"
    )

    static let proofMissing = Self(
        .proofMissing,
        "there is no proof yet that can end this session later: connect to the server and try again"
    )

    static let cleanupFull = Self(
        .cleanupFull,
        "too many ended logins wait to be cleaned up: connect to their servers first"
    )
}
