import Contracts

/// Something to do outside of the state. Those that need a login carry no credentials: whoever
/// performs them uses those of the generation they were made under, or drops them.
package enum DeviceEffect: Hashable, Sendable {
    case fetchProof
    case readSettings
    case save(PushPreferences, revision: Int64)
    case readPermission
    case requestPermission
    case requestToken
    case register(Enrollment.Registration, revision: Int64)
    /// End a session by its evidence, without any login.
    case end(SessionEnd)
    /// Remove the content keys of all logins but this one.
    case keepKeys(of: SessionID?)

    /// Whether it uses the credentials of the login.
    package var needsLogin: Bool {
        switch self {
        case .fetchProof, .readSettings, .save, .register: true
        case .readPermission, .requestPermission, .requestToken, .end, .keepKeys: false
        }
    }

    /// Whether it ends a session at the same server; where one was not reached, the other is not.
    func isLike(_ other: DeviceEffect) -> Bool {
        guard case .end(let end) = self, case .end(let another) = other else { return false }
        return end.server == another.server
    }
}
