import Glibc
import PushBusDevice

/// The phone's storage: one file an item, mode 0600, in a directory of mode 0700.
struct FileStore: DeviceStore {
    let directory: String

    /// Why a file could not be used.
    struct Failure: Error, CustomStringConvertible {
        var path: String
        var code: Int32

        var description: String {
            let reason = strerror(code).map { String(cString: $0) } ?? "unknown error"
            return "\(path): \(reason)"
        }
    }

    /// Bytes of the largest item.
    private static let limit = 4 << 20

    /// Opens the directory, making it if it is missing; parents must be there.
    init(directory: String) throws(Failure) {
        self.directory = directory
        guard mkdir(directory, 0o700) == 0 || errno == EEXIST else {
            throw Failure(path: directory, code: errno)
        }
        var status = stat()
        guard stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw Failure(path: directory, code: ENOTDIR)
        }
        guard chmod(directory, 0o700) == 0 else { throw Failure(path: directory, code: errno) }
        removeLeftovers()
    }

    /// Removes what processes left behind that were killed while they wrote: it may be secret.
    private func removeLeftovers() {
        guard let folder = opendir(directory) else { return }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let parts = name.split(separator: ".")
            guard
                parts.count == 3, parts[1] == "json", let process = pid_t(parts[2]),
                kill(process, 0) != 0, errno == ESRCH
            else { continue }
            unlink("\(directory)/\(name)")
        }
    }

    /// The processes of one phone take turns: a lock on the file `lock`, which goes with the process.
    func exclusively(_ body: () -> Void) throws {
        let path = "\(directory)/lock"
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(path: path, code: errno) }
        defer { close(descriptor) }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw Failure(path: path, code: errno) }
        }
        body()
    }

    func read(_ item: DeviceItem) throws -> [UInt8]? { try read(item.rawValue) }

    func write(_ bytes: [UInt8]?, _ item: DeviceItem) throws { try write(bytes, item.rawValue) }

    /// The content of `<name>.json`; nil when there is no such file.
    func read(_ name: String) throws(Failure) -> [UInt8]? {
        let path = path(name)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 && errno == ENOENT { return nil }
        guard descriptor >= 0 else { throw Failure(path: path, code: errno) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw Failure(path: path, code: errno) }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
            guard bytes.count <= Self.limit else { throw Failure(path: path, code: EFBIG) }
        }
    }

    /// Replaces `<name>.json` in one step and on disk, or removes it.
    func write(_ bytes: [UInt8]?, _ name: String) throws(Failure) {
        let path = path(name)
        guard let bytes else {
            guard unlink(path) == 0 || errno == ENOENT else {
                throw Failure(path: path, code: errno)
            }
            try syncDirectory()
            return
        }
        // The process id keeps two processes of one phone apart.
        let temporary = "\(path).\(getpid())"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(path: temporary, code: errno) }
        let count = Glibc.write(descriptor, bytes, bytes.count)
        let isWritten = count == bytes.count && fsync(descriptor) == 0
        let code = count >= 0 && count < bytes.count ? ENOSPC : errno
        close(descriptor)
        guard isWritten, rename(temporary, path) == 0 else {
            unlink(temporary)
            throw Failure(path: path, code: code)
        }
        try syncDirectory()
    }

    private func syncDirectory() throws(Failure) {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(path: directory, code: errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw Failure(path: directory, code: errno) }
    }

    private func path(_ name: String) -> String { "\(directory)/\(name).json" }
}
