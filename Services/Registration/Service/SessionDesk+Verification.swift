import Contracts
import PushBusCrypto
import RegistrationCore

/// What an account shows to be let in, and what is done with that besides signing in.
extension SessionDesk {
    /// Nil when account, password and one-time code do not fit.
    func verify(_ credentials: Credentials, from source: String) async throws -> SessionProof? {
        let name = credentials.username
        let attempt = try gate.enter(.password, account: name, source: source)
        let known = try await store.account(.username(name))
        let fits = try await passwords.verify(credentials.password, against: known?.passwordHash)
        guard fits, let known else { return nil }
        var step: Int64?
        if let sealed = known.totpSecret {
            guard let code = credentials.oneTimeCode else {
                // Right so far: the same sign-in comes back with a code.
                gate.succeeded(attempt)
                throw RequestProblem.oneTimeCodeRequired
            }
            let secret = try vault.openSecret(sealed, of: name)
            step = OneTimeCode.accept(code.text, now: now, lastStep: known.totpLastStep) {
                HMACSHA1.code(for: $0, key: secret)
            }
            guard step != nil else { return nil }
        }
        gate.succeeded(attempt)
        return .password(known.account.id, hash: known.passwordHash, step: step)
    }

    /// The `otpauth` URI of a new secret, or nil in it when codes are switched off; nil when there is
    /// no such account.
    func changeTOTP(
        of account: AccountName,
        enabled: Bool,
        by caller: Caller?
    ) async throws -> (id: UserID, uri: Password?)? {
        guard enabled else {
            let id = try await store.changeTOTP(of: account, secret: nil, by: caller, now: now)
            return id.map { ($0, nil) }
        }
        // The secret is bound to the name, which an account keeps.
        guard let name = try await store.account(account)?.account.username else { return nil }
        let secret = secretBytes(OneTimeCode.secretBytes)
        let id = try await vault.sealing { sealer in
            try await store.changeTOTP(
                of: account,
                secret: sealer.seal(secret: SecretBytes(secret), of: name),
                by: caller,
                now: now
            )
        }
        let uri = OneTimeCode.uri(secret: secret, username: name, issuer: "PushBus")
        return id.map { ($0, Password(uri)) }
    }

    /// An authorization to recover, with what it is for; nil when the account is not verified.
    func openRecovery(
        _ request: Recovery.Request,
        from source: String
    ) async throws -> (Password, Recovery)? {
        let proof: SessionProof
        var attempt: SignInGate.Attempt?
        switch request.evidence {
        case .password(let credentials):
            guard let verified = try await verify(credentials, from: source) else { return nil }
            proof = verified
        case .code(let code):
            attempt = try gate.enter(.pair, source: source)
            proof = .pairing(Self.hash(code.text))
        }
        let token = self.secret(bytes: 32)
        let recovery = try await store.openRecovery(
            Self.hash(token),
            on: request.installationID,
            by: proof,
            now: now
        )
        guard let recovery else { return nil }
        if let attempt { gate.succeeded(attempt) }
        return (Password(token), recovery)
    }

    func recovery(token: Substring) async throws -> Recovery? {
        try await store.recovery(Self.hash(String(token)), now: now)
    }
}
