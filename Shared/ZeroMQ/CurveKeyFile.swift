import Glibc

/// Key files: a secret file with both halves (mode 0600) and a public file to hand out.
///
/// Each line is `public <z85>` or `secret <z85>`; lines that begin with `#` are comments.
package enum CurveKeyFile {
    /// Writes `<path>` (0600, both halves) and `<path>.pub` (0644); refuses to overwrite either.
    package static func write(_ keys: CurveKeyPair, to path: String) throws(ZeroMQError) {
        let shared = "public \(keys.publicKey.z85)\n"
        try create(
            path,
            mode: 0o600,
            "# PushBus bus key. Keep this file private.\n\(shared)secret \(keys.secret.z85)\n"
        )
        try create("\(path).pub", mode: 0o644, shared)
    }

    /// Reads a secret key file; refuses one that other users may read.
    package static func readSecret(_ path: String) throws(ZeroMQError) -> CurveKeyPair {
        let text = try read(path, secret: true)
        guard
            let secret = value(of: "secret", in: text).flatMap({ CurveSecretKey(z85: $0) }),
            let keys = CurveKeyPair(secret: secret)
        else {
            throw .refused("key file \(path)", "holds no line 'secret' with 40 characters of Z85")
        }
        return keys
    }

    /// Reads the public key from a public or a secret key file.
    package static func readPublic(_ path: String) throws(ZeroMQError) -> CurvePublicKey {
        let text = try read(path, secret: false)
        guard let key = value(of: "public", in: text).flatMap({ CurvePublicKey(z85: $0) }) else {
            throw .refused("key file \(path)", "holds no line 'public' with 40 characters of Z85")
        }
        return key
    }

    private static func value(of name: String, in text: String) -> String? {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
            if words.count == 2 && words[0] == name { return String(words[1]) }
        }
        return nil
    }

    private static func create(
        _ path: String,
        mode: mode_t,
        _ text: String
    ) throws(ZeroMQError) {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard file >= 0 else {
            throw .system("create \(path)", "choose a new name in a directory you may write to")
        }
        defer { Glibc.close(file) }
        let bytes = Array(text.utf8)
        guard Glibc.write(file, bytes, bytes.count) == bytes.count, fsync(file) == 0 else {
            throw .system("write \(path)", "free some space and try again under a new name")
        }
    }

    private static func read(_ path: String, secret: Bool) throws(ZeroMQError) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            throw .system("open \(path)", "make the key with 'pushbus keys'")
        }
        defer { Glibc.close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw .system("inspect \(path)", "") }
        if secret && status.st_mode & 0o077 != 0 {
            throw .refused("key file \(path)", "other users may read it; run chmod 600 on it")
        }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(file, &bytes, bytes.count)
        guard count >= 0 else { throw .system("read \(path)", "") }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}

extension ZeroMQError {
    /// The error that the last system call of this thread left behind.
    static func system(_ operation: String, _ hint: String) -> ZeroMQError {
        let code = errno
        let text = strerror(code).map { String(cString: $0) } ?? "unknown error"
        return ZeroMQError(
            operation: operation,
            code: code,
            message: hint.isEmpty ? text : "\(text): \(hint)"
        )
    }
}
