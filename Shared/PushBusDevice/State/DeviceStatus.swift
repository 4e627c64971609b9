import Contracts

/// What people are shown of all this. It is made of the state alone.
package struct DeviceStatus: Hashable, Sendable {
    package enum Account: Hashable, Sendable {
        /// `wasEnded` when the server ended the login, not the person.
        case signedOut(wasEnded: Bool)
        case signedIn(UserID, server: String)
        /// Nothing works until the session is recovered.
        case lost(UserID, server: String)
    }

    /// Whether the server can reach this phone. It says nothing about the phone's own permission.
    package enum Registration: Hashable, Sendable {
        /// Notifications are switched off, or it is not known whether they are on.
        case off
        /// Something else comes first: the disclosure, a permission, an answer.
        case waiting
        case registered
        /// Registered, but the server cannot deliver; the server's word for the reason.
        case undeliverable(String)
        case failed(DeviceError.Code)
    }

    /// What people can do about it.
    package enum Action: String, Hashable, Sendable, CaseIterable {
        case signIn = "sign_in"
        case recoverSession = "recover_session"
        case showDisclosure = "show_disclosure"
        case retry
        case openSystemSettings = "open_system_settings"
    }

    /// Seconds before its end at which people are told that a session ends.
    package static let expiryNoticeSeconds: Int64 = 3 * 86_400

    package let account: Account
    /// The phone's own; nil while nobody has asked the system.
    package let permission: PermissionStatus?
    package let registration: Registration
    package let confirmed: PushSettings?
    /// Choices that the server has not confirmed, and why.
    package let unconfirmed: PreferenceChanges?
    package let saveTrouble: DeviceError.Code?
    /// Why the server's settings could not be read last.
    package let contactTrouble: DeviceError.Code?
    /// Categories that the server says the account may have.
    package let allowed: Set<Category>
    package let hasProof: Bool
    package let isExpiring: Bool
    /// Logins that are over here and still to be ended at their servers.
    package let waitingCleanups: Int
    package let actions: [Action]

    init(_ state: DeviceState, at now: UnixSeconds) {
        let login = state.login
        let enrollment = login?.enrollment
        account =
            if let lost = state.lost {
                .lost(lost.session.userID, server: lost.session.server)
            } else if let login {
                .signedIn(login.session.userID, server: login.session.server)
            } else {
                .signedOut(wasEnded: state.wasEnded)
            }
        permission = enrollment?.permission
        registration = enrollment.map(Self.registration) ?? .off
        confirmed = enrollment?.confirmed
        unconfirmed = enrollment?.draft?.changes
        saveTrouble = enrollment?.draft?.trouble
        contactTrouble = enrollment?.contactTrouble
        allowed = Self.allowed(confirmed)
        hasProof = login?.proof != nil
        isExpiring =
            login?.session.endsAt.map { now.adding(seconds: Self.expiryNoticeSeconds) >= $0 }
            ?? false
        waitingCleanups = state.cleanup.count
        actions = Self.actions(state)
    }

    private static func registration(_ enrollment: Enrollment) -> Registration {
        if let trouble = enrollment.registrationTrouble { return .failed(trouble) }
        guard let confirmed = enrollment.confirmed, confirmed.preferences.enabled else {
            return .off
        }
        guard enrollment.isRegistered else { return .waiting }
        guard confirmed.deliveryAvailable else {
            return .undeliverable(confirmed.deliveryUnavailableReason ?? "unknown")
        }
        return .registered
    }

    private static func allowed(_ confirmed: PushSettings?) -> Set<Category> {
        guard let confirmed else { return [] }
        var allowed: Set<Category> = [.alert]
        if confirmed.securityAllowed { allowed.insert(.security) }
        if confirmed.tasksAllowed { allowed.formUnion([.taskFailure, .taskSuccess]) }
        return allowed
    }

    private static func actions(_ state: DeviceState) -> [Action] {
        if state.lost != nil { return [.recoverSession] }
        let recovery: [Action] = state.recoverable == nil ? [] : [.recoverSession]
        guard let enrollment = state.login?.enrollment else { return recovery + [.signIn] }
        var actions = recovery
        let wants =
            enrollment.draft?.changes.switchesOn ?? false
            || enrollment.confirmed?.preferences.enabled ?? false
        if wants, !enrollment.isDisclosed { actions.append(.showDisclosure) }
        let troubles = [
            enrollment.draft?.trouble, enrollment.registrationTrouble, enrollment.contactTrouble,
        ]
        if troubles.contains(where: { $0 != nil }) { actions.append(.retry) }
        if wants, enrollment.permission == .denied { actions.append(.openSystemSettings) }
        return actions
    }
}
