/// `registration.admin.backup.v1`: the owner of the store copies it to a new file while it goes on
/// working. The copy knows that it is one: started in the store's place it ends all sessions.
package struct RegistrationBackup: BusRequest, Hashable {
    package typealias Answer = RegistrationBackupAnswer
    package static let type = "registration.admin.backup.v1"

    /// An absolute path on the owner's host where nothing is yet.
    package var path: String

    package init(path: String) { self.path = path }

    package func checkBounds() throws(ContractViolation) {
        try ContractViolation.check(
            path.hasPrefix("/") && path.utf8.count <= 4096 && !path.utf8.contains(0),
            "/path",
            "must be an absolute path of at most 4096 bytes"
        )
    }
}

package struct RegistrationBackupAnswer: BusMessage, Hashable {
    package static let type = "registration.admin.backup.answer.v1"

    /// The size of the copy.
    package var bytes: Int64

    package init(bytes: Int64) { self.bytes = bytes }
}
