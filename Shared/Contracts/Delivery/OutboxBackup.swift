/// `outbox.admin.backup.v1`: the owner of the outbox copies it to a new file while it goes on working.
package struct OutboxBackup: BusRequest, Hashable {
    package typealias Answer = OutboxBackupAnswer
    package static let type = "outbox.admin.backup.v1"

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

package struct OutboxBackupAnswer: BusMessage, Hashable {
    package static let type = "outbox.admin.backup.answer.v1"

    /// The size of the copy.
    package var bytes: Int64

    package init(bytes: Int64) { self.bytes = bytes }
}
