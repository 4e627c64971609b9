import Contracts

/// The content keys of one login: the current one, and the one before it for thirty minutes, so
/// that what APNs already holds can still be opened.
package struct ContentKeyring: Codable, Hashable, Sendable {
    /// Seconds for which a replaced key still opens envelopes: the life of an event.
    package static let overlapSeconds: Int64 = 1800

    package struct Entry: Codable, Hashable, Sendable {
        package var id: KeyID
        package var key: ContentKey

        package init(id: KeyID, key: ContentKey) {
            self.id = id
            self.key = key
        }
    }

    package struct Retired: Codable, Hashable, Sendable {
        package var entry: Entry
        package var replacedAt: UnixSeconds
    }

    /// The login whose keys these are; they open nothing of another one.
    package let sessionID: SessionID
    package private(set) var current: Entry
    /// A new key on its way to the server: it opens envelopes already, the server may have it.
    package private(set) var staged: Entry?
    package private(set) var previous: Retired?

    package init(sessionID: SessionID, current: Entry) {
        self.sessionID = sessionID
        self.current = current
    }

    enum CodingKeys: String, CodingKey {
        case sessionID = "session_id"
        case current
        case staged
        case previous
    }

    /// The key to register next: the staged one, else the current one.
    package var toRegister: Entry { staged ?? current }

    /// Prepares a new key; ``confirm(_:at:)`` puts it in place once the server has it.
    package mutating func stage(_ entry: Entry) { staged = entry }

    /// Puts the key that the server confirmed in place; the one it replaces stays usable for the
    /// overlap.
    package mutating func confirm(_ entry: Entry, at now: UnixSeconds) {
        if staged == entry { staged = nil }
        guard entry != current else { return }
        previous = Retired(entry: current, replacedAt: now)
        current = entry
    }

    /// The key of that id, unless it was replaced longer ago than the overlap.
    package func key(_ id: KeyID, at now: UnixSeconds) -> ContentKey? {
        if id == current.id { return current.key }
        if let staged, id == staged.id { return staged.key }
        guard
            let previous, previous.entry.id == id,
            now < previous.replacedAt.adding(seconds: Self.overlapSeconds)
        else { return nil }
        return previous.entry.key
    }

    /// Drops the replaced key when its time is over; says whether there was something to drop.
    package mutating func forgetExpired(at now: UnixSeconds) -> Bool {
        guard
            let previous,
            now >= previous.replacedAt.adding(seconds: Self.overlapSeconds)
        else { return false }
        self.previous = nil
        return true
    }
}

extension ContentKeyring.Entry {
    /// A new key with a new name; `random` gives that many unpredictable bytes.
    package static func make(random: (Int) -> [UInt8]) -> Self? {
        guard let id = KeyID(random16: random(16)), let key = ContentKey(random(32)) else {
            return nil
        }
        return Self(id: id, key: key)
    }
}
