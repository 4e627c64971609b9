import CSQLite
import Glibc

/// A running copy of the file into another one; lives on the owner's thread.
final class SQLiteBackup {
    private let target: SQLiteConnection
    private let targetPath: String
    private var handle: OpaquePointer?

    init(of source: SQLiteConnection, to path: String) throws(StorageError) {
        guard access(path, F_OK) != 0 else {
            throw StorageError(
                .cannotOpen,
                "\(path) exists already; name a new file for the backup"
            )
        }
        let previousMask = umask(0o177)
        defer { umask(previousMask) }
        target = try SQLiteConnection(opening: path + ".partial")
        targetPath = path
        handle = sqlite3_backup_init(target.handle, "main", source.handle, "main")
        guard handle != nil else {
            throw .sqlite(sqlite3_extended_errcode(target.handle), during: "start a backup")
        }
    }

    /// Copies some pages; true when all are copied.
    func step(pages: Int32) throws(StorageError) -> Bool {
        switch sqlite3_backup_step(handle, pages) {
        case SQLITE_OK: return false
        case SQLITE_DONE: return true
        case let code: throw .sqlite(code, during: "copy pages to the backup")
        }
    }

    /// Gives the finished copy its name.
    func finish() throws(StorageError) {
        try end()
        guard rename(targetPath + ".partial", targetPath) == 0 else {
            throw StorageError(.cannotOpen, "the backup could not be renamed to \(targetPath)")
        }
    }

    /// Gives up and removes the unfinished copy.
    func abandon() {
        try? end()
        unlink(targetPath + ".partial")
    }

    private func end() throws(StorageError) {
        let code = sqlite3_backup_finish(handle)
        handle = nil
        try target.close()
        guard code == SQLITE_OK else { throw .sqlite(code, during: "finish the backup") }
    }
}

extension SQLiteOwner {
    /// Pages of one step; the batches that wait run between two steps.
    private static let pagesPerStep: Int32 = 256

    /// Copies the whole file to `path` while the store goes on working.
    func backup(to path: String) async throws {
        let backup = try SQLiteBackup(of: opened(), to: path)
        do {
            while try !backup.step(pages: Self.pagesPerStep) {
                await Task.yield()
                _ = try opened()
            }
            try backup.finish()
        } catch {
            backup.abandon()
            throw error
        }
    }
}
