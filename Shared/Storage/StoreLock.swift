import Glibc

/// The lock file beside a store: one owner at a time, and a mark of how the last one stopped.
///
/// A file of its own, because closing any descriptor of the database file would drop SQLite's locks.
struct StoreLock: ~Copyable {
    /// Whether the last owner closed the store in order.
    let wasStoppedCleanly: Bool
    private let descriptor: Int32

    private static let cleanMark = UInt8(ascii: "c")
    private static let openMark = UInt8(ascii: "o")

    /// Takes the lock of the store at `path` or throws `alreadyRunning`.
    init(storePath path: String) throws(StorageError) {
        let lockPath = path + "-lock"
        let opened = Glibc.open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard opened >= 0 else { throw Self.openError(errno, lockPath) }
        guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
            let reason = errno
            Glibc.close(opened)
            guard reason == EWOULDBLOCK else { throw Self.openError(reason, lockPath) }
            throw StorageError(
                .alreadyRunning,
                "another process owns \(path); stop it first, a store has exactly one owner"
            )
        }
        var mark: UInt8 = 0
        wasStoppedCleanly = pread(opened, &mark, 1, 0) == 1 && mark == Self.cleanMark
        descriptor = opened
    }

    deinit {
        Glibc.close(descriptor)
    }

    /// Makes the store's file if it is not there, for its owner's eyes only; SQLite would make it as
    /// the umask allows, and its WAL takes the same mode.
    ///
    /// Before SQLite opens the file, since closing a descriptor of it would drop SQLite's locks.
    borrowing func createFile(_ path: String) throws(StorageError) {
        let made = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if made >= 0 {
            Glibc.close(made)
        } else if errno != EEXIST {
            throw Self.openError(errno, path)
        }
    }

    /// Records durably that the store is in use.
    borrowing func markOpen() throws(StorageError) { try write(Self.openMark) }

    /// Records durably that the store was closed in order.
    borrowing func markClean() throws(StorageError) { try write(Self.cleanMark) }

    private borrowing func write(_ mark: UInt8) throws(StorageError) {
        var byte = mark
        guard pwrite(descriptor, &byte, 1, 0) == 1, fdatasync(descriptor) == 0 else {
            throw Self.openError(errno, "the lock file")
        }
    }

    private static func openError(_ reason: Int32, _ path: String) -> StorageError {
        switch reason {
        case ENOSPC, EDQUOT:
            StorageError(.full, "no room to write \(path); free some space")
        case EROFS, EACCES, EPERM:
            StorageError(.readOnly, "\(path) cannot be written; check mode, owner and mount")
        default:
            StorageError(
                .cannotOpen,
                "\(path) cannot be opened (errno \(reason)); check its folder"
            )
        }
    }
}
