import Contracts

/// How far a login has come on the way to notifications, and what stands in the way.
///
/// The order is: disclosure shown, preferences confirmed by the server, permission, token,
/// registration. ``step`` is the one place that knows it.
package struct Enrollment: Codable, Hashable, Sendable {
    /// Choices that the server has not confirmed.
    package struct Draft: Codable, Hashable, Sendable {
        package internal(set) var changes: PreferenceChanges
        /// Why the last save failed; kept until a save succeeds or a newer revision confirms.
        package internal(set) var trouble: DeviceError.Code?
        /// The revision that the last save was written over.
        var savedOver: Int64?
        var attempt = Attempt()
    }

    /// What the server has of this phone.
    package struct Registration: Codable, Hashable, Sendable {
        package var issued: IssuedToken
        package var keyID: KeyID
    }

    /// How often the settings changed under a write, and whether it waits to be tried again.
    struct Attempt: Codable, Hashable, Sendable {
        /// Others may be faster that often before people are asked.
        static let staleLimit = 4

        var stale = 0
        var isHeld = false
    }

    /// The version of the disclosure that was shown for this login.
    package internal(set) var disclosure: Int?
    /// What the server said last.
    package internal(set) var confirmed: PushSettings?
    package internal(set) var draft: Draft?
    /// Nil until the system was asked about it.
    package internal(set) var permission: PermissionStatus?
    package internal(set) var issued: IssuedToken?
    /// The key to register.
    package internal(set) var keyID: KeyID
    package internal(set) var registration: Registration?
    /// Why the last registration failed.
    package internal(set) var registrationTrouble: DeviceError.Code?
    /// Why the settings could not be read last.
    package internal(set) var contactTrouble: DeviceError.Code?
    var registering = Attempt()

    init(keyID: KeyID) { self.keyID = keyID }

    /// Whether the disclosure of this version of the app was shown.
    package var isDisclosed: Bool { disclosure == Disclosure.version }

    /// What the server has is what the phone is.
    package var isRegistered: Bool {
        guard let registration, let issued, let confirmed else { return false }
        return registration == Registration(issued: issued, keyID: keyID) && confirmed.registered
            && confirmed.deliveryUnavailableReason != "suspect"
    }

    /// What comes next on the way.
    enum Step: Hashable, Sendable {
        case readSettings
        case save(PushPreferences, revision: Int64)
        case readPermission
        case requestPermission
        case requestToken
        case register(Registration, revision: Int64)
    }

    /// The next step; nil when nothing is to be done, or nothing without a person.
    var step: Step? {
        if let draft, !draft.attempt.isHeld {
            // What is switched off needs no disclosure.
            if draft.changes.switchesOn, !isDisclosed { return nil }
            guard let confirmed else { return .readSettings }
            return .save(
                draft.changes.applied(to: confirmed.preferences),
                revision: confirmed.revision
            )
        }
        guard isDisclosed, let confirmed, confirmed.preferences.enabled else { return nil }
        switch permission {
        case nil: return .readPermission
        case .notAsked: return .requestPermission
        case .denied: return nil
        case .granted: break
        }
        if registering.isHeld { return nil }
        guard let issued else { return .requestToken }
        if isRegistered { return nil }
        return .register(
            Registration(issued: issued, keyID: keyID),
            revision: confirmed.revision
        )
    }
}
