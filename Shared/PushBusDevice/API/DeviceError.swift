/// Why something the phone asked for did not happen; it carries no secret.
package struct DeviceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of obstacle it was; open-ended, with a stable name for records.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        package let name: String
        package var description: String { name }

        /// The server's address may not be used.
        package static let address = Self(name: "address")
        /// No reply came.
        package static let unreachable = Self(name: "unreachable")
        /// The server wanted to send the phone elsewhere; it never goes.
        package static let redirected = Self(name: "redirected")
        /// The reply is not one of this API.
        package static let malformedReply = Self(name: "malformed_reply")
        /// Nobody is signed in here.
        package static let signedOut = Self(name: "signed_out")
        /// Wrong name, password, code or token.
        package static let unauthorized = Self(name: "unauthorized")
        /// The account may not do this, or another login owns the installation.
        package static let forbidden = Self(name: "forbidden")
        /// The settings changed meanwhile: read them again.
        package static let staleRevision = Self(name: "stale_revision")
        /// The server found the request wrong.
        package static let refused = Self(name: "refused")
        /// Too many tries; wait.
        package static let throttled = Self(name: "throttled")
        /// The server cannot answer now.
        package static let unavailable = Self(name: "unavailable")
        /// The phone could not read or write its own storage.
        package static let storage = Self(name: "storage")
        /// The login changed while the request was under way; its reply was thrown away.
        package static let superseded = Self(name: "superseded")
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
    package var isRetriable: Bool {
        code == .unreachable || code == .throttled || code == .unavailable
    }

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
}
