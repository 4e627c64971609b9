import CSodium

/// Passwords hashed with argon2id (RFC 9106) through libsodium.
package enum PasswordHash {
    /// Cost of one hash; libsodium's interactive cost is the default of the service.
    package struct Cost: Hashable, Sendable {
        package let operations: UInt64
        package let memoryBytes: Int

        package init(operations: UInt64, memoryBytes: Int) {
            self.operations = operations
            self.memoryBytes = memoryBytes
        }

        /// 2 passes over 64 MiB.
        package static let interactive = Self(operations: 2, memoryBytes: 64 << 20)
        /// 2 passes over 19 MiB, the smaller of the two OWASP profiles for argon2id.
        package static let frugal = Self(operations: 2, memoryBytes: 19 << 20)
        /// The least libsodium accepts; for tests only.
        package static let test = Self(operations: 1, memoryBytes: 8 << 10)
    }

    /// The hash in the standard text form `$argon2id$…`; takes tens of milliseconds by design.
    @concurrent
    package static func hash(
        _ password: SecretBytes,
        cost: Cost = .frugal
    ) async throws(CryptoError) -> String {
        try hashBlocking(password, cost: cost)
    }

    /// As ``hash(_:cost:)`` on the calling thread.
    package static func hashBlocking(
        _ password: SecretBytes,
        cost: Cost = .frugal
    ) throws(CryptoError) -> String {
        try prepare()
        var text = [CChar](repeating: 0, count: Int(crypto_pwhash_STRBYTES))
        let result = password.withCharacters { characters, count in
            crypto_pwhash_str_alg(
                &text,
                characters,
                UInt64(count),
                cost.operations,
                cost.memoryBytes,
                crypto_pwhash_ALG_ARGON2ID13
            )
        }
        guard result == 0 else {
            throw CryptoError(.libraryFailure, "argon2id needs \(cost.memoryBytes) bytes of memory")
        }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Whether the password belongs to the stored hash; a malformed hash is false.
    @concurrent
    package static func verify(_ password: SecretBytes, against hash: String) async -> Bool {
        verifyBlocking(password, against: hash)
    }

    /// As ``verify(_:against:)`` on the calling thread.
    package static func verifyBlocking(_ password: SecretBytes, against hash: String) -> Bool {
        guard (try? prepare()) != nil, hash.utf8.count < Int(crypto_pwhash_STRBYTES) else {
            return false
        }
        return password.withCharacters { characters, count in
            crypto_pwhash_str_verify(hash, characters, UInt64(count)) == 0
        }
    }

    /// Spends the time of a verification for a user that does not exist, so that the answer
    /// time does not tell which names exist.
    @concurrent
    package static func verifyDummy(_ password: SecretBytes, cost: Cost = .frugal) async {
        _ = try? hashBlocking(password, cost: cost)
    }

    private static func prepare() throws(CryptoError) {
        guard sodium_init() >= 0 else {
            throw CryptoError(.libraryFailure, "libsodium could not be initialised")
        }
    }
}

extension SecretBytes {
    /// Lends the bytes as C characters; libsodium wants an address for an empty password, too.
    fileprivate func withCharacters<R>(_ body: (UnsafePointer<CChar>, Int) -> R) -> R {
        withBytes { bytes in
            guard let base = bytes.baseAddress, !bytes.isEmpty else {
                return withUnsafePointer(to: CChar(0)) { body($0, 0) }
            }
            return body(base.assumingMemoryBound(to: CChar.self), bytes.count)
        }
    }
}
