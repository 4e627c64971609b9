import RegistrationCore

/// Tells a store that was restored from a backup from one that went on.
package protocol GenerationStore: Sendable {
    func generation() async throws -> StoreGeneration

    /// Records a generation that begins now. `anew` ends in the same transaction every session, with
    /// all that sessions registered and all codes, and raises the binding counter by
    /// ``StoreGeneration/counterJump``. Returns how many sessions ended.
    @discardableResult
    func begin(generation: Int64, anew: Bool) async throws -> Int

    /// Writes what is there already, to see whether the store takes writes.
    func probe() async throws
}

/// A store that can be copied while it works.
package protocol StoreBackup: Sendable {
    /// Writes a copy to a new file, which knows of itself that it is one; returns its size in bytes.
    /// A store in a server throws ``StorageError`` `unsupported`, with what copies it.
    func backup(to path: String) async throws -> Int64
}
