import Contracts
import FoundationEssentials
import PushBusCrypto
import RegistrationCore
import ServiceKit

/// Opens, renews and ends sessions: the one place that makes tokens and codes.
package struct SessionDesk: Sendable {
    /// A session with the tokens that only its phone gets to see.
    package struct Grant: Sendable {
        package let caller: Caller
        package let accessToken: Password
        package let refreshToken: Password
    }

    private struct Tokens {
        let access: String
        let refresh: String
        let hashes: TokenHashes
    }

    let store: any RegistrationStore
    let gate: SignInGate
    let passwords: PasswordThread
    let vault: ContentKeyVault
    private let lifetimes: SessionLifetimes
    private let time: any TimeSource
    private let random: RandomSource

    package init(
        store: any RegistrationStore,
        gate: SignInGate,
        passwords: PasswordThread,
        vault: ContentKeyVault,
        lifetimes: SessionLifetimes,
        time: any TimeSource,
        random: RandomSource
    ) {
        self.store = store
        self.gate = gate
        self.passwords = passwords
        self.vault = vault
        self.lifetimes = lifetimes
        self.time = time
        self.random = random
    }

    var now: UnixSeconds { time.wall.second }

    /// Nil when account and password do not fit; both cases take equally long.
    package func login(_ request: LoginRequest, from source: String) async throws -> Grant? {
        guard let proof = try await verify(request.credentials, from: source) else { return nil }
        return try await open(request.device, by: proof)
    }

    /// A wrong code is of no account, so it counts against the source alone. What an account may trade
    /// is held back where its codes are made: each is good once.
    package func pair(_ request: PairRequest, from source: String) async throws -> Grant? {
        let attempt = try gate.enter(.pair, source: source)
        let grant = try await open(request.device, by: .pairing(Self.hash(request.code.text)))
        if grant != nil { gate.succeeded(attempt) }
        return grant
    }

    /// What is wrong counts against the source, what is right against the account.
    package func refresh(_ request: RefreshRequest, from source: String) async throws -> Grant? {
        let attempt = try gate.enter(.refresh, source: source)
        let hash = Self.hash(request.token.text)
        guard let owner = try await store.owner(refreshHash: hash, now: now) else { return nil }
        _ = try gate.enter(.refresh, account: owner.text, source: nil)
        let tokens = makeTokens()
        let caller = try await store.refresh(
            hash,
            to: tokens.hashes,
            lifetimes: lifetimes,
            now: now
        )
        guard let caller else { return nil }
        gate.succeeded(attempt)
        return grant(caller, tokens)
    }

    /// A proof that can end the caller's session and do nothing else.
    package func makeProof(_ request: Revocation.ProofRequest, _ caller: Caller) async throws
        -> Password
    {
        try request.check(caller)
        _ = try gate.enter(.issue, account: caller.session.userID.text, source: nil)
        let proof = secret(bytes: 32)
        try await store.saveProof(Self.hash(proof), of: caller, now: now)
        return Password(proof)
    }

    package func revoke(_ request: Revocation.Request, from source: String) async throws
        -> Revocation.Outcome
    {
        let attempt = try gate.enter(
            .revoke,
            account: request.sessionID.text,
            source: source
        )
        let evidence =
            switch request.evidence {
            case .proof(let proof): Self.hash(proof.text)
            case .refreshTokenHash(let hash): hash
            }
        let outcome = try await store.revoke(request.sessionID, evidence: evidence)
        if outcome != .refused { gate.succeeded(attempt) }
        return outcome
    }

    package func logout(_ caller: Caller) async throws {
        try await store.endSession(caller.session.id)
    }

    package func caller(accessToken: Substring) async throws -> Caller? {
        try await store.caller(accessHash: Self.hash(String(accessToken)), now: now)
    }

    /// A code for an account that itself or an administrator asks for over HTTP; each account gets so
    /// many in a while, whoever asks. Nil when there is no such account.
    package func makeCountedPairingCode(
        for account: UserID,
        by caller: Caller
    ) async throws -> (Password, UnixSeconds)? {
        _ = try gate.enter(.issue, account: account.text, source: nil)
        return try await makePairingCode(for: .id(account), by: caller)
    }

    /// Nil when there is no such account.
    package func makePairingCode(
        for account: AccountName,
        by caller: Caller?
    ) async throws -> (Password, UnixSeconds)? {
        let now = now
        let code = secret(bytes: 20)
        let expiresAt = now.adding(seconds: lifetimes.pairingSeconds)
        let saved = try await store.savePairingCode(
            Self.hash(code),
            for: account,
            expiresAt: expiresAt,
            by: caller,
            now: now
        )
        return saved ? (Password(code), expiresAt) : nil
    }

    func addAccount(
        _ request: UserAdd,
        by caller: Caller?
    ) async throws -> (id: UserID, added: Bool) {
        if let known = try await store.account(.username(request.username)) {
            return (known.account.id, false)
        }
        let hash = try await passwords.hash(request.password)
        let account = Account(
            id: UserID(makeUUID()),
            username: request.username,
            role: request.role
        )
        return try await store.addAccount(account, passwordHash: hash, by: caller, now: now)
    }

    /// Nil when there is no such account.
    func changePassword(
        of account: AccountName,
        to password: Password,
        by caller: Caller?
    ) async throws -> (id: UserID, sessionsEnded: Int)? {
        let hash = try await passwords.hash(password)
        return try await store.changePassword(of: account, hash: hash, by: caller, now: now)
    }

    private func open(_ device: SignInDevice, by proof: SessionProof) async throws -> Grant? {
        let now = now
        let tokens = makeTokens()
        let end = now.adding(seconds: lifetimes.sessionSeconds)
        let session = NewSession(
            id: SessionID(makeUUID()),
            device: device,
            tokens: tokens.hashes,
            createdAt: now,
            expiresAt: end,
            accessExpiresAt: lifetimes.accessEnd(now: now, sessionEnd: end)
        )
        return try await store.openSession(session, by: proof).map { grant($0, tokens) }
    }

    private func grant(_ caller: Caller, _ tokens: Tokens) -> Grant {
        Grant(
            caller: caller,
            accessToken: Password(tokens.access),
            refreshToken: Password(tokens.refresh)
        )
    }

    private func makeTokens() -> Tokens {
        let access = secret(bytes: 32)
        let refresh = secret(bytes: 32)
        return Tokens(
            access: access,
            refresh: refresh,
            hashes: TokenHashes(access: Self.hash(access), refresh: Self.hash(refresh))
        )
    }

    func secretBytes(_ count: Int) -> [UInt8] { random.bytes(count) }

    func secret(bytes count: Int) -> String {
        Base64.encodeURL(random.bytes(count))
    }

    private func makeUUID() -> String {
        var generator = random
        return UUID.random(using: &generator).uuidString.lowercased()
    }

    /// Tokens and codes are random and long: a plain hash is enough to keep them from the store.
    static func hash(_ secret: String) -> Blob {
        Blob(SHA256.hash(Array(secret.utf8)))
    }
}
