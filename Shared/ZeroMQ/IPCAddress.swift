import Glibc

/// A bound `ipc://` address: a socket file in a 0700 directory, guarded by a lock file.
///
/// libzmq removes whatever is at the path before it binds, so a second process would silently
/// steal the address; the lock, held as long as this value lives, prevents that.
package final class IPCAddress: Sendable {
    package let path: String
    private let lock: Int32

    /// Longest socket path in bytes (`sun_path` holds 108 with its end mark).
    package static let maximumPathBytes = 107

    /// Makes the directory if it is missing, checks it and takes the lock.
    ///
    /// Throws when the directory belongs to or is open to another user, and, with "already
    /// running" in the text, when another process holds the lock.
    package init(path: String) throws(ZeroMQError) {
        guard path.hasPrefix("/"), path.utf8.count <= Self.maximumPathBytes else {
            throw .refused(
                "ipc \(path)",
                "use an absolute path of at most \(Self.maximumPathBytes) bytes"
            )
        }
        guard let slash = path.lastIndex(of: "/"), path.index(after: slash) < path.endIndex else {
            throw .refused("ipc \(path)", "the path ends in a slash; name a socket file")
        }
        let directory = String(path[..<slash])
        try Self.prepare(directory.isEmpty ? "/" : directory)
        let lockPath = "\(path).lock"
        let file = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw .system("open \(lockPath)", "") }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            let held = errno == zeroMQWouldBlock
            let error = ZeroMQError.system(
                "lock \(lockPath)",
                held ? "already running: another process serves this address" : ""
            )
            Glibc.close(file)
            throw error
        }
        self.path = path
        self.lock = file
    }

    deinit { Glibc.close(lock) }

    /// Binds `socket` here, with a umask that keeps the socket file to this user.
    package func bind(_ socket: ZeroMQSocket) throws(ZeroMQError) {
        // 077 and not 0177: the umask is the process's, and a directory made meanwhile by
        // another thread must stay usable.
        let previous = umask(0o077)
        defer { umask(previous) }
        try socket.bind("ipc://\(path)")
    }

    /// Removes the socket file, while the lock still keeps the next process from binding: libzmq
    /// 4.3.4 leaves it behind when it closes.
    package func remove() { unlink(path) }

    private static func prepare(_ directory: String) throws(ZeroMQError) {
        if mkdir(directory, 0o700) != 0 && errno != EEXIST {
            throw .system("make directory \(directory)", "make its parent first")
        }
        var status = stat()
        guard stat(directory, &status) == 0 else { throw .system("inspect \(directory)", "") }
        guard status.st_uid == geteuid() else {
            throw .refused("ipc directory \(directory)", "it belongs to another user; choose one")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw .refused(
                "ipc directory \(directory)",
                "other users may enter it; run chmod 700 on it or choose another"
            )
        }
    }
}
