import Contracts

/// What the notification service extension makes of one delivery.
package enum Opening: Hashable, Sendable {
    /// The content was opened and is to be shown.
    case content(Banner, eventID: EventID, target: TapTarget?)
    /// Nothing trustworthy or timely to show: the generic text. Only content that was opened and is
    /// merely too old has an event and a target.
    case generic(Banner, reason: GenericReason, eventID: EventID?, target: TapTarget?)
    /// Nothing new: the delivery is to make no sound and to change nothing that is shown.
    case silent(SilentReason, eventID: EventID)

    /// Why the generic text is shown; the names are stable.
    package enum GenericReason: String, Codable, Sendable {
        /// The payload holds no envelope under the profile's key.
        case noEnvelope = "no_envelope"
        case malformed
        case unsupportedVersion = "unsupported_version"
        /// Sealed with a key that this login does not have, or not any more.
        case unknownKey = "unknown_key"
        /// For another deployment, account or installation.
        case otherRecipient = "other_recipient"
        /// Changed on the way, or sealed with something else.
        case authenticationFailed = "authentication_failed"
        case expired
        case signedOut = "signed_out"
        /// The phone cannot read its keys now.
        case storage
    }

    /// Why nothing is shown.
    package enum SilentReason: String, Codable, Sendable {
        case repeated
        /// A newer state of the same alert was shown already.
        case outdated
    }

    /// Whether nothing is shown.
    package var isSilent: Bool {
        if case .silent = self { true } else { false }
    }

    /// The event of an authenticated delivery.
    package var eventID: EventID? {
        switch self {
        case .content(_, let eventID, _): eventID
        case .generic(_, _, let eventID, _): eventID
        case .silent(_, let eventID): eventID
        }
    }
}
