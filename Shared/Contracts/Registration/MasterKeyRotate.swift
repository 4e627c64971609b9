/// `registration.admin.masterkey.v1`: puts all that is sealed under a new master key.
///
/// It is answered at once; ask again without `begin` until it runs no more.
package struct MasterKeyRotate: BusRequest, Hashable {
    package typealias Answer = MasterKeyRotateAnswer
    package static let type = "registration.admin.masterkey.v1"

    /// Begins a rotation unless one is under way; otherwise only asks how far it is.
    package var begin: Bool

    package init(begin: Bool) { self.begin = begin }
}

package struct MasterKeyRotateAnswer: BusMessage, Hashable {
    package static let type = "registration.admin.masterkey.answer.v1"

    package var running: Bool
    /// Secrets that are under the new key now, in the rotation under way or the last one.
    package var resealed: Int64
    /// Secrets that neither key opens.
    package var unreadable: Int64
    /// Why it does not get on; it tries again by itself.
    package var trouble: String?

    package init(running: Bool, resealed: Int64, unreadable: Int64, trouble: String? = nil) {
        self.running = running
        self.resealed = resealed
        self.unreadable = unreadable
        self.trouble = trouble
    }
}
