extension DeviceError.Code {
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
    /// Somebody is signed in here already.
    package static let alreadySignedIn = Self(name: "already_signed_in")
    /// Wrong name, password, code or token.
    package static let unauthorized = Self(name: "unauthorized")
    /// The account asks for a one-time code besides the password.
    package static let oneTimeCodeRequired = Self(name: "one_time_code_required")
    /// The account may not do this.
    package static let forbidden = Self(name: "forbidden")
    /// Another account's login owns the installation at the server.
    package static let ownedElsewhere = Self(name: "owned_elsewhere")
    /// The settings changed meanwhile: read them again.
    package static let staleRevision = Self(name: "stale_revision")
    /// The server found the request wrong.
    package static let refused = Self(name: "refused")
    /// The server does not offer this; it may be too old.
    package static let unsupported = Self(name: "unsupported")
    /// Too many tries; wait.
    package static let throttled = Self(name: "throttled")
    /// The server cannot answer now.
    package static let unavailable = Self(name: "unavailable")
    /// The phone could not read or write its own storage.
    package static let storage = Self(name: "storage")
    /// The server has no relay that could send.
    package static let relayMissing = Self(name: "relay_not_configured")
    /// The system issued no device token.
    package static let token = Self(name: "token")
    /// The login changed while the request was under way; its reply was thrown away.
    package static let superseded = Self(name: "superseded")
    /// The server refuses this login for good and there is no proof: it must be recovered.
    package static let recoverSession = Self(name: "recover_session")
    /// There is no deletion proof of the session, so it may not be left behind.
    package static let proofMissing = Self(name: "proof_missing")
    /// No more deletion proofs can be kept.
    package static let cleanupFull = Self(name: "cleanup_full")
    /// Another account than the one the session belongs to was shown.
    package static let otherAccount = Self(name: "other_account")

    /// Every code that this library makes.
    package static let all: [Self] = [
        .address, .unreachable, .redirected, .malformedReply, .signedOut, .alreadySignedIn,
        .unauthorized, .oneTimeCodeRequired, .forbidden, .ownedElsewhere, .staleRevision, .refused,
        .unsupported, .throttled, .unavailable, .storage, .relayMissing, .token, .superseded,
        .recoverSession,
        .proofMissing, .cleanupFull, .otherAccount,
    ]

    /// Whether the same may succeed later without anybody's doing.
    package var isRetriable: Bool {
        [.unreachable, .throttled, .unavailable, .relayMissing, .token].contains(self)
    }
}

extension DeviceError.Code: Codable {
    package init(from decoder: any Decoder) throws {
        name = try decoder.singleValueContainer().decode(String.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }
}
