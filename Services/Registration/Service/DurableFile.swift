import Glibc

/// Small files that are written whole or not at all.
enum DurableFile {
    /// What could not be done; names the file and holds nothing of its content.
    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ path: String, _ what: String) {
            description = "\(path) \(what): \(String(cString: strerror(errno)))"
        }
    }

    /// Puts a file of mode 0600 in the place of another, or where there was none.
    static func replace(_ path: String, with bytes: some Collection<UInt8>) throws(Failure) {
        try write(path + ".new", bytes)
        guard rename(path + ".new", path) == 0 else { throw Failure(path, "cannot be replaced") }
        syncFolder(of: path)
    }

    /// Makes a file of mode 0600 that must not exist yet.
    static func create(_ path: String, with bytes: some Collection<UInt8>) throws(Failure) {
        let temporary = path + ".new"
        try write(temporary, bytes)
        defer { unlink(temporary) }
        guard link(temporary, path) == 0 else { throw Failure(path, "cannot be made") }
        syncFolder(of: path)
    }

    /// Makes changes of names in a folder last.
    static func syncFolder(of path: String) {
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        let directory = open(folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        fsync(directory)
        close(directory)
    }

    private static func write(
        _ path: String,
        _ bytes: some Collection<UInt8>
    ) throws(Failure) {
        unlink(path)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
        let descriptor = open(path, flags, 0o600)
        guard descriptor >= 0 else { throw Failure(path, "cannot be made") }
        defer { close(descriptor) }
        let count = bytes.count
        let written = bytes.withContiguousStorageIfAvailable {
            Glibc.write(descriptor, $0.baseAddress, $0.count)
        }
        guard written == count, fsync(descriptor) == 0 else {
            let failure = Failure(path, "cannot be written")
            unlink(path)
            throw failure
        }
    }
}
