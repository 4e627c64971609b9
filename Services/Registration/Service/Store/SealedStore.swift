import Contracts
import RegistrationCore

/// What is kept under the master key, for putting it under another one.
package protocol SealedStore: Sendable {
    /// Up to `limit` sealed secrets after a place, in the order of their places.
    func sealedSecrets(
        after place: SealedSecret.Place?,
        limit: Int
    ) async throws -> [SealedSecret]

    /// Puts new seals in the place of old ones and returns how many; what has changed since it was
    /// read, or is gone, stays as it is.
    func reseal(_ changes: [Resealing]) async throws -> Int
}

/// A secret under the master key, and where it is.
package struct SealedSecret: Sendable {
    /// Content keys come before one-time codes; within a kind the names are in byte order.
    package enum Place: Hashable, Sendable {
        case contentKey(InstallationID)
        case oneTimeCodes(username: String)
    }

    package let place: Place
    /// Of a content key.
    package let keyID: KeyID?
    package let sealed: Blob

    package init(place: Place, keyID: KeyID?, sealed: Blob) {
        self.place = place
        self.keyID = keyID
        self.sealed = sealed
    }
}

/// The same secret under another key.
package struct Resealing: Sendable {
    package let old: SealedSecret
    package let sealed: Blob

    package init(old: SealedSecret, sealed: Blob) {
        self.old = old
        self.sealed = sealed
    }
}
