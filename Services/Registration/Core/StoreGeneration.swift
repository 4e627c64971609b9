/// Which generation a store is in: a number that grows at every start, here and in a file beside the
/// store, so that an older copy in its place is recognised.
package struct StoreGeneration: Hashable, Sendable {
    package let number: Int64
    /// Whether this is a backup that has not been started yet.
    package let isBackup: Bool

    package init(number: Int64, isBackup: Bool) {
        self.number = number
        self.isBackup = isBackup
    }

    /// More numbers than a deployment can have taken between a backup and its restoration.
    package static let counterJump: Int64 = 1 << 36

    /// Whether the store was restored: it is a backup, older than what the file beside it `recorded`,
    /// or it has been in use and nothing beside it knows of that.
    package func isRestored(recorded: Int64?) -> Bool {
        isBackup || number > 0 && recorded == nil || number < recorded ?? 0
    }

    /// The generation that begins with this start.
    package func next(recorded: Int64?) -> Int64 { max(number, recorded ?? 0) + 1 }
}
