import Contracts
import Glibc
import PushBusCrypto
import RegistrationCore

/// Seals content keys before they are stored, and opens them for an audience.
package struct ContentKeyVault: Sendable {
    /// The only thing that can be wrong with a stored key; carries nothing of it.
    package struct Unreadable: Error {}

    private let master: SecretBytes
    private let nonce: @Sendable () -> [UInt8]

    /// Uses a master key of 32 bytes; `nonce` gives 12 fresh random bytes each time.
    package init(
        master: SecretBytes,
        nonce: @escaping @Sendable () -> [UInt8] = { SecureRandom.bytes(AESGCM.nonceBytes) }
    ) {
        self.master = master
        self.nonce = nonce
    }

    /// The nonce followed by ciphertext and tag; bound to the installation and the key's id.
    package func seal(
        _ key: ContentKey,
        id: KeyID,
        of installation: InstallationID
    ) throws(CryptoError) -> Blob {
        let nonce = nonce()
        let sealed = try master.withBytes { master throws(CryptoError) in
            try AESGCM.seal(
                key.bytes,
                key: Array(master),
                nonce: nonce,
                authenticating: Self.context(id, installation)
            )
        }
        return Blob(nonce + sealed)
    }

    /// The key again, unless it was sealed under another master key or for somebody else.
    package func open(
        _ sealed: Blob,
        id: KeyID,
        of installation: InstallationID
    ) throws(Unreadable) -> ContentKey {
        let nonce = Array(sealed.bytes.prefix(AESGCM.nonceBytes))
        let rest = Array(sealed.bytes.dropFirst(AESGCM.nonceBytes))
        let bytes = master.withBytes { master in
            try? AESGCM.open(
                rest,
                key: Array(master),
                nonce: nonce,
                authenticating: Self.context(id, installation)
            )
        }
        guard let key = bytes.flatMap({ ContentKey($0) }) else { throw Unreadable() }
        return key
    }

    /// Seals the secret of an account's one-time codes; bound to the account's name, which stays.
    package func sealSecret(_ secret: SecretBytes, of username: String) throws(CryptoError) -> Blob
    {
        let nonce = nonce()
        let sealed = try master.withBytes { master throws(CryptoError) in
            try AESGCM.seal(
                secret.withBytes { Array($0) },
                key: Array(master),
                nonce: nonce,
                authenticating: Self.context(username)
            )
        }
        return Blob(nonce + sealed)
    }

    package func openSecret(_ sealed: Blob, of username: String) throws(Unreadable) -> SecretBytes {
        let bytes = master.withBytes { master in
            try? AESGCM.open(
                Array(sealed.bytes.dropFirst(AESGCM.nonceBytes)),
                key: Array(master),
                nonce: Array(sealed.bytes.prefix(AESGCM.nonceBytes)),
                authenticating: Self.context(username)
            )
        }
        guard let bytes else { throw Unreadable() }
        return SecretBytes(bytes)
    }

    private static func context(_ username: String) -> [UInt8] {
        Array("PushBus.TOTP.v1|\(username)".utf8)
    }

    /// Equal for equal keys of an id; tells nothing of the key, which is random.
    package static func digest(_ key: ContentKey, id: KeyID) -> Blob {
        Blob(SHA256.hash(Array("PushBus.ContentKey.digest.v1|\(id)|".utf8) + key.bytes))
    }

    private static func context(_ id: KeyID, _ installation: InstallationID) -> [UInt8] {
        Array("PushBus.ContentKey.v1|\(id)|\(installation.text)".utf8)
    }
}

/// The file that holds the master key: 32 raw bytes, mode 0600.
enum MasterKeyFile {
    /// Why there is no usable master key.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Reads the file; makes it, with a random key, if it is not there.
    static func readOrCreate(_ path: String) throws(Failure) -> SecretBytes {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        if descriptor >= 0 {
            defer { close(descriptor) }
            return try read(descriptor, path)
        }
        guard errno == ENOENT else { throw failure("cannot be opened", path) }
        return try create(path)
    }

    private static func read(_ descriptor: Int32, _ path: String) throws(Failure) -> SecretBytes {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("cannot be looked at", path) }
        guard status.st_mode & 0o077 == 0 else {
            throw Failure(
                description: "\(path) may be read by others; make its mode 0600"
            )
        }
        var bytes = [UInt8](repeating: 0, count: AESGCM.keyBytes + 1)
        defer { for index in bytes.indices { bytes[index] = 0 } }
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        guard count == AESGCM.keyBytes else {
            throw Failure(description: "\(path) does not hold the 32 bytes of a master key")
        }
        return SecretBytes(bytes[..<AESGCM.keyBytes])
    }

    /// Writes beside the final name and links it into place, so that a crash leaves no half key.
    private static func create(_ path: String) throws(Failure) -> SecretBytes {
        let temporary = path + ".new"
        unlink(temporary)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
        let descriptor = open(temporary, flags, 0o600)
        guard descriptor >= 0 else { throw failure("cannot be made", temporary) }
        defer {
            close(descriptor)
            unlink(temporary)
        }
        let key = SecretBytes(SecureRandom.bytes(AESGCM.keyBytes))
        let written = key.withBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        guard written == AESGCM.keyBytes, fsync(descriptor) == 0 else {
            throw failure("cannot be written", temporary)
        }
        guard link(temporary, path) == 0 else { throw failure("cannot be made", path) }
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        let directory = Glibc.open(
            folder.isEmpty ? "/" : folder,
            O_RDONLY | O_DIRECTORY | O_CLOEXEC
        )
        if directory >= 0 {
            fsync(directory)
            close(directory)
        }
        return key
    }

    private static func failure(_ what: String, _ path: String) -> Failure {
        Failure(description: "\(path) \(what): \(String(cString: strerror(errno)))")
    }
}
