import Glibc
import PushBusCrypto

/// The file that holds the master key: 32 raw bytes, mode 0600.
///
/// While the key is replaced the new one is in a second file beside it, from before anything is
/// sealed with it until nothing is sealed with the old one any more; then that file takes the place
/// of the first. Whenever the process ends, the files hold what opens everything.
struct MasterKeyFile: Sendable {
    /// Why there is no usable master key.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let path: String

    /// Where the new key is during a replacement.
    var nextPath: String { path + ".next" }

    /// Reads the key; makes the file, with a random key, if it is not there.
    func readOrCreate() throws(Failure) -> SecretBytes {
        if let key = try Self.read(path) { return key }
        return try create(path)
    }

    /// The new key of a replacement that has begun, nil when none has.
    func readNext() throws(Failure) -> SecretBytes? { try Self.read(nextPath) }

    /// Makes the new key of a replacement, or finds the one of a replacement that has begun.
    func readOrCreateNext() throws(Failure) -> SecretBytes {
        if let key = try Self.read(nextPath) { return key }
        return try create(nextPath)
    }

    /// Puts the new key in the place of the old one, which is gone then.
    func finishReplacement() throws(Failure) {
        guard rename(nextPath, path) == 0 else {
            throw Self.failure("cannot take the place of \(path)", nextPath)
        }
        DurableFile.syncFolder(of: path)
    }

    /// Nil when there is no file.
    private static func read(_ path: String) throws(Failure) -> SecretBytes? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("cannot be opened", path)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("cannot be looked at", path) }
        guard status.st_mode & 0o077 == 0 else {
            throw Failure(description: "\(path) may be read by others; make its mode 0600")
        }
        var bytes = [UInt8](repeating: 0, count: AESGCM.keyBytes + 1)
        defer { for index in bytes.indices { bytes[index] = 0 } }
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        guard count == AESGCM.keyBytes else {
            throw Failure(description: "\(path) does not hold the 32 bytes of a master key")
        }
        return SecretBytes(bytes[..<AESGCM.keyBytes])
    }

    private func create(_ path: String) throws(Failure) -> SecretBytes {
        let key = SecretBytes(SecureRandom.bytes(AESGCM.keyBytes))
        do throws(DurableFile.Failure) {
            try key.withBytes { bytes throws(DurableFile.Failure) in
                try DurableFile.create(path, with: bytes)
            }
        } catch {
            throw Failure(description: "\(error)")
        }
        return key
    }

    private static func failure(_ what: String, _ path: String) -> Failure {
        Failure(description: "\(path) \(what): \(String(cString: strerror(errno)))")
    }
}
