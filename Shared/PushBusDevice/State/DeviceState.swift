import Contracts

/// Everything this phone remembers but its keys; one item, replaced as a whole, so that a phone that
/// dies at any moment is before or after a change and never in it.
package struct DeviceState: Codable, Hashable, Sendable {
    /// Most deletion proofs that wait at a time.
    package static let cleanupLimit = 16

    /// Grows whenever a login begins, ends or is lost; what was asked under another one is discarded.
    package internal(set) var generation: Int64 = 0
    package internal(set) var login: Login?
    /// A login that the server refuses for good while there is no proof: nothing ordinary is asked
    /// until its session is recovered.
    package internal(set) var lost: Login?
    /// The session that somebody chose to end in a recovery, saved before it is ended.
    package internal(set) var selected: SessionID?
    /// Sessions that are over here and perhaps not at their servers.
    package internal(set) var cleanup: [SessionEnd] = []
    /// A tap that waits for the sign-in.
    package internal(set) var tap: BufferedTap?
    /// The server ended the last login; the person did not sign out.
    package internal(set) var wasEnded = false

    package init() {}

    enum CodingKeys: String, CodingKey {
        case generation
        case login
        case lost
        case selected
        case cleanup
        case tap
        case wasEnded = "was_ended"
    }

    /// Takes the event in and says what to do. What throws has changed nothing.
    package mutating func handle(
        _ event: DeviceEvent,
        at now: UnixSeconds
    ) throws(DeviceError) -> [DeviceEffect] {
        var next = self
        let effects = try next.take(event, now)
        self = next
        return effects
    }

    private mutating func take(
        _ event: DeviceEvent,
        _ now: UnixSeconds
    ) throws(DeviceError) -> [DeviceEffect] {
        switch event {
        case .signedIn(let session, let keyID): return try begin(session, keyID)
        case .signOut: return try signOut()
        case .reconcile(let occasion): return reconcile(occasion, now)
        case .disclosureShown, .choose, .retry, .keyStaged:
            _ = try ordinaryLogin
            return wish(event)
        case .permission, .issued: return word(event)
        case .answered(let answer, let generation):
            // Late: the login it was for is over, or lost.
            guard generation == self.generation, login != nil else { return [] }
            return self.answer(answer, now)
        case .ended(let session, let result): return ended(session, result)
        case .selected(let session): return try select(session)
        case .listed(let session, let present): return listed(session, present)
        case .recovered(let session): return recovered(session)
        case .tapped(let target):
            tap = BufferedTap(target: target, at: now)
            return []
        case .tapDone(let target):
            if tap?.target == target { tap = nil }
            return []
        }
    }

    /// The login that ordinary requests may use.
    package var ordinaryLogin: Login {
        get throws(DeviceError) {
            if lost != nil { throw .recoverSession }
            guard let login else { throw .signedOut }
            return login
        }
    }
}

/// A tap on a notification, kept until somebody is signed in to follow it.
package struct BufferedTap: Codable, Hashable, Sendable {
    /// Seconds for which it is worth following.
    static let lifeSeconds: Int64 = 86_400

    package var target: TapTarget
    package var at: UnixSeconds
}
