/// A request that is not carried out: an HTTP status, a stable code and what to do about it.
package struct RequestProblem: Error, Hashable, Sendable, CustomStringConvertible {
    package let status: Int
    package let code: String
    /// For people; never repeats a value of the request, which may be secret.
    package let message: String
    /// Whole seconds after which a repeat makes sense; nil where time alone changes nothing.
    package let retryAfter: Int64?

    package init(_ status: Int, _ code: String, _ message: String, retryAfter: Int64? = nil) {
        self.status = status
        self.code = code
        self.message = message
        self.retryAfter = retryAfter ?? (status == 503 ? 2 : nil)
    }

    package var description: String { "\(code): \(message)" }

    /// A body or parameter that breaks its contract; the message names the field.
    package static func invalid(_ message: String) -> Self {
        Self(400, "invalid_request", message)
    }

    package static let wrongDeployment = Self(
        403,
        "wrong_deployment",
        "deployment_id is not the one of this server; use the one your session names."
    )
    package static let invalidCredentials = Self(
        401,
        "invalid_credentials",
        "Not accepted. Check what you sent and sign in again."
    )
    /// Told only to who has the right password.
    package static let oneTimeCodeRequired = Self(
        401,
        "one_time_code_required",
        "This account asks for a one-time code. Send it as one_time_code."
    )
    package static let unauthorized = Self(
        401,
        "unauthorized",
        "The access token is missing, unknown or expired. Refresh it or sign in again."
    )
    package static let forbiddenCategory = Self(
        403,
        "forbidden_category",
        "Your role does not receive this category."
    )
    package static let notEnabled = Self(
        403,
        "not_enabled",
        "Push is not enabled. Save the settings with enabled first."
    )
    package static let ownedElsewhere = Self(
        403,
        "owned_elsewhere",
        "Another account is signed in on this installation. Sign it out first."
    )
    package static let administratorsOnly = Self(
        403,
        "administrators_only",
        "Your role may not do this."
    )
    package static let foreignTest = Self(
        403,
        "foreign_test",
        "This test belongs to another login. Use a new event_id."
    )
    package static let notFound = Self(404, "not_found", "There is nothing here.")
    package static let staleRevision = Self(
        409,
        "stale_revision",
        "The settings have changed since. Read them again and repeat."
    )
    package static let testConflict = Self(
        409,
        "test_conflict",
        "This event_id was used with another revision. Use a new one."
    )
    package static let notRegistered = Self(
        409,
        "not_registered",
        "This installation cannot receive now. Register its token first."
    )
    package static let accountExists = Self(
        409,
        "account_exists",
        "There is an account of this name already; nothing was changed."
    )
    package static let relayNotConfigured = Self(
        400,
        "relay_not_configured",
        "This server has no relay that can send now; its operator has to set one up."
    )
    package static let otherSession = Self(
        409,
        "other_session",
        "expected_session_id is not the session of this access token."
    )
    package static let gone = Self(
        410,
        "gone",
        "Plaintext registration no longer exists. Use /api/mobile/push/encrypted-register."
    )
    package static let unsupportedMediaType = Self(
        415,
        "unsupported_media_type",
        "Send application/json without a content encoding."
    )
    package static let tooManyTests = Self(
        429,
        "too_many_tests",
        "Too many tests of this installation are under way. Try again in half an hour."
    )
    /// An account or a source tried too often.
    package static func tooManyAttempts(milliseconds: Int64) -> Self {
        Self(
            429,
            "too_many_attempts",
            "Too many attempts. Try again later.",
            retryAfter: max(1, (milliseconds + 999) / 1000)
        )
    }

    package static let busy = Self(503, "busy", "Too much at once. Try again shortly.")
    package static let storeUnavailable = Self(
        503,
        "store_unavailable",
        "The store does not take this now. Try again shortly."
    )
    package static let deliveryUnavailable = Self(
        503,
        "delivery_unavailable",
        "Delivery does not answer now. Try again shortly."
    )
}
