import Commands
import Contracts
import Glibc

/// The file of a store that no process owns: replaced as a file, never opened as a store.
struct StoreFile {
    let path: String

    private static let magic = Array("SQLite format 3\0".utf8)

    /// Copies a backup into the store's place and moves what was there aside; says where to.
    ///
    /// The generation file gets a number that no store has reached, so that the service knows the store
    /// for a restored one whoever made the copy.
    func restore(from backup: String, now: UnixSeconds) throws(CommandFailure) -> String? {
        let lock = try takeLock()
        defer { close(lock) }
        let copy = path + ".restoring"
        try copyFile(backup, to: copy)
        try raiseGeneration()
        let kept = access(path, F_OK) == 0 ? "\(path).before-\(now.seconds)" : nil
        if let kept {
            // What is only in the WAL goes along; a store without its WAL would be another one.
            for ending in ["-wal", "-shm", ""] where access(path + ending, F_OK) == 0 {
                try move(path + ending, to: kept + ending)
            }
        }
        try move(copy, to: path)
        syncFolder()
        // Not the mark of a clean stop: the service looks the file over before it uses it.
        pwrite(lock, "o", 1, 0)
        return kept
    }

    /// The lock that the service holds while it runs.
    private func takeLock() throws(CommandFailure) -> Int32 {
        let descriptor = open(path + "-lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("\(path)-lock cannot be opened") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw CommandFailure("the service that owns \(path) runs: stop it first")
        }
        return descriptor
    }

    private func copyFile(_ source: String, to target: String) throws(CommandFailure) {
        let input = open(source, O_RDONLY | O_CLOEXEC)
        guard input >= 0 else { throw failure("\(source) cannot be opened") }
        defer { close(input) }
        unlink(target)
        let output = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard output >= 0 else { throw failure("\(target) cannot be made") }
        defer { close(output) }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var isFirst = true
        while true {
            let count = read(input, &buffer, buffer.count)
            guard count >= 0 else { throw failure("\(source) cannot be read") }
            if isFirst, !buffer[..<count].starts(with: Self.magic) {
                throw CommandFailure("\(source) is no SQLite file", exitCode: ExitCode.badInput)
            }
            isFirst = false
            if count == 0 { break }
            guard write(output, buffer, count) == count else {
                throw failure("\(target) cannot be written")
            }
        }
        guard fsync(output) == 0 else { throw failure("\(target) cannot be written") }
    }

    private func raiseGeneration() throws(CommandFailure) {
        let file = path + "-generation"
        var recorded: Int64 = 0
        if access(file, F_OK) == 0 {
            let text = String(decoding: try InputFile.read(file, limit: 64), as: UTF8.self)
            recorded = Int64(text.prefix { $0 != "\n" }) ?? 0
        }
        let text = Array("\(recorded + 1_000_000)\n".utf8)
        let descriptor = open(file + ".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("\(file) cannot be made") }
        defer { close(descriptor) }
        guard write(descriptor, text, text.count) == text.count, fsync(descriptor) == 0 else {
            throw failure("\(file) cannot be written")
        }
        try move(file + ".new", to: file)
    }

    private func move(_ source: String, to target: String) throws(CommandFailure) {
        guard rename(source, target) == 0 else { throw failure("\(source) cannot be renamed") }
    }

    private func syncFolder() {
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        let directory = open(folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        fsync(directory)
        close(directory)
    }

    private func failure(_ what: String) -> CommandFailure {
        CommandFailure(
            "\(what): \(String(cString: strerror(errno)))",
            exitCode: ExitCode.files
        )
    }
}
