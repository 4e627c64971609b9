import Contracts

/// Which text says what.
extension TextTable {
    private static let errors: [DeviceError.Code: TextKey] = [
        .address: .errorAddress,
        .unreachable: .errorUnreachable,
        .redirected: .errorRedirected,
        .malformedReply: .errorMalformedReply,
        .signedOut: .errorSignedOut,
        .alreadySignedIn: .errorAlreadySignedIn,
        .unauthorized: .errorUnauthorized,
        .oneTimeCodeRequired: .errorOneTimeCode,
        .forbidden: .errorForbidden,
        .ownedElsewhere: .errorOwnedElsewhere,
        .staleRevision: .errorStaleRevision,
        .refused: .errorRefused,
        .unsupported: .errorUnsupported,
        .throttled: .errorThrottled,
        .unavailable: .errorUnavailable,
        .storage: .errorStorage,
        .relayMissing: .deliveryRelayMissing,
        .token: .errorToken,
        .superseded: .errorSuperseded,
        .recoverSession: .errorRecoverSession,
        .proofMissing: .errorProofMissing,
        .cleanupFull: .errorCleanupFull,
        .otherAccount: .errorOtherAccount,
    ]

    /// The key of what to tell people about an error.
    package static func key(for code: DeviceError.Code) -> TextKey { errors[code] ?? .errorOther }

    /// What to tell people about an error.
    package func message(for code: DeviceError.Code) -> String { self[Self.key(for: code)] }

    /// The name of a button.
    package func name(of action: DeviceStatus.Action) -> String {
        switch action {
        case .signIn: self[.actionSignIn]
        case .recoverSession: self[.actionRecoverSession]
        case .showDisclosure: self[.actionShowDisclosure]
        case .retry: self[.actionRetry]
        case .openSystemSettings: self[.actionOpenSystemSettings]
        }
    }

    /// What to tell people about the phone's permission.
    package static func key(for permission: PermissionStatus) -> TextKey {
        switch permission {
        case .notAsked: .permissionNotAsked
        case .denied: .permissionDenied
        case .granted: .permissionGranted
        }
    }

    /// What to tell people about the server's reason why it cannot deliver.
    package static func key(forDelivery reason: String) -> TextKey {
        switch reason {
        case "not_enabled": .deliveryNotEnabled
        case "not_registered": .statusNotRegistered
        case "suspect", "suspect_environment": .deliverySuspect
        case "owned_elsewhere": .deliveryOwnedElsewhere
        case "relay_not_configured": .deliveryRelayMissing
        case "session_expiring": .deliverySessionExpiring
        default: .deliveryUnavailable
        }
    }

    /// The status as people read it, one line for each independent thing.
    package func lines(_ status: DeviceStatus) -> [String] {
        var lines = [account(status.account)]
        if case .signedIn = status.account {
            if status.isExpiring { lines.append(self[.statusSessionExpiring]) }
            if !status.hasProof { lines.append(self[.statusNoProof]) }
            lines.append(self[status.permission.map(Self.key) ?? .permissionNotAsked])
            lines.append(registration(status.registration))
            if status.unconfirmed != nil { lines.append(self[.statusUnconfirmed]) }
            for code in [status.saveTrouble, status.contactTrouble].compactMap(\.self)
            where !lines.contains(message(for: code)) {
                lines.append(message(for: code))
            }
        }
        if status.waitingCleanups > 0 {
            lines.append(filled(.statusCleanupWaiting, ["count": "\(status.waitingCleanups)"]))
        }
        return lines
    }

    private func account(_ account: DeviceStatus.Account) -> String {
        switch account {
        case .signedOut(let wasEnded): self[wasEnded ? .statusEnded : .statusSignedOut]
        case .signedIn(let user, let server):
            filled(.statusSignedIn, ["user": user.text, "server": server])
        case .lost(let user, let server):
            filled(.statusLost, ["user": user.text, "server": server])
        }
    }

    private func registration(_ registration: DeviceStatus.Registration) -> String {
        switch registration {
        case .off: self[.statusOff]
        case .waiting: self[.statusNotRegistered]
        case .registered: self[.statusRegistered]
        case .undeliverable(let reason): self[Self.key(forDelivery: reason)]
        case .failed(let code): "\(self[.statusRegistrationFailed]) \(message(for: code))"
        }
    }
}
