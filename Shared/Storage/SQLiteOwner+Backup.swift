import CSQLite
import Glibc

/// A running copy of the file into another one; lives on the owner's thread.
final class SQLiteBackup {
    private let target: SQLiteConnection
    private let targetPath: String
    private var handle: OpaquePointer?
    private var isClosed = false

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

    /// Changes the finished copy, gives it its name and returns its size in bytes.
    func finish(_ finishing: (SQLiteConnection) throws -> Void) throws -> Int64 {
        try endCopy()
        try finishing(target)
        try close()
        var status = stat()
        stat(targetPath + ".partial", &status)
        guard rename(targetPath + ".partial", targetPath) == 0 else {
            throw StorageError(.cannotOpen, "the backup could not be renamed to \(targetPath)")
        }
        return Int64(status.st_size)
    }

    /// Gives up and removes the unfinished copy.
    func abandon() {
        try? endCopy()
        try? close()
        unlink(targetPath + ".partial")
    }

    private func close() throws(StorageError) {
        guard !isClosed else { return }
        isClosed = true
        try target.close()
    }

    private func endCopy() throws(StorageError) {
        guard let handle else { return }
        let code = sqlite3_backup_finish(handle)
        self.handle = nil
        guard code == SQLITE_OK else { throw .sqlite(code, during: "finish the backup") }
    }
}

extension SQLiteOwner {
    /// Pages of one step; the batches that wait run between two steps.
    private static let pagesPerStep: Int32 = 256

    /// Copies the whole file to `path` while the store goes on working; returns the size of the copy.
    ///
    /// Nothing in here throws: the optimizer of Swift 6.3.1 crashes on this loop with throwing calls.
    func backup(
        to path: String,
        finishing: @escaping @Sendable (SQLiteConnection) throws -> Void
    ) async -> Result<Int64, any Error> {
        let backup: SQLiteBackup
        switch begin(to: path) {
        case .success(let begun): backup = begun
        case .failure(let error): return .failure(error)
        }
        while true {
            switch advance(backup, finishing) {
            case .success(nil): await Task.yield()
            case .success(let size?): return .success(size)
            case .failure(let error): return .failure(error)
            }
        }
    }

    @inline(never)
    private func begin(to path: String) -> Result<SQLiteBackup, any Error> {
        Result { try SQLiteBackup(of: opened(), to: path) }
    }

    /// One step; the size of the copy when it was the last one. A backup that fails is given up.
    @inline(never)
    private func advance(
        _ backup: SQLiteBackup,
        _ finishing: (SQLiteConnection) throws -> Void
    ) -> Result<Int64?, any Error> {
        let result = Result<Int64?, any Error> {
            _ = try opened()
            guard try backup.step(pages: Self.pagesPerStep) else { return nil }
            return try backup.finish(finishing)
        }
        if case .failure = result { backup.abandon() }
        return result
    }
}
