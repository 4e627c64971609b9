import Commands
import Glibc

/// Holds a directory for one `pushbus up`: a second one says so instead of starting.
final class DirectoryLock: Sendable {
    private let descriptor: Int32

    /// Makes the directory (0700) if it is missing and takes its lock.
    init(_ directory: String) throws(CommandFailure) {
        guard mkdir(directory, 0o700) == 0 || errno == EEXIST else {
            throw Self.failure(directory, "cannot be made")
        }
        let path = "\(directory)/up.lock"
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(path, "cannot be opened") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let isHeld = errno == EWOULDBLOCK
            close(descriptor)
            throw isHeld
                ? CommandFailure("'pushbus up' runs in \(directory) already")
                : Self.failure(path, "cannot be locked")
        }
    }

    deinit { close(descriptor) }

    private static func failure(_ path: String, _ what: String) -> CommandFailure {
        let reason = strerror(errno).map { String(cString: $0) } ?? "unknown error"
        return CommandFailure("\(path) \(what): \(reason)", exitCode: ExitCode.files)
    }
}
