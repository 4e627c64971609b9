import Contracts

/// How effects are performed: the only place that asks the ports.
extension PushDevice {
    typealias Outcome = (event: DeviceEvent?, trouble: DeviceError?)

    func result(
        of effect: DeviceEffect,
        under generation: Int64
    ) async throws(DeviceError) -> Outcome {
        switch effect {
        case .readPermission: return (.permission(await environment.permission.status()), nil)
        case .requestPermission: return (.permission(await environment.permission.request()), nil)
        case .requestToken: return await token()
        case .end(let end): return await self.end(end)
        case .keepKeys(let session): return (try keepKeys(of: session), nil)
        case .fetchProof, .readSettings, .save, .register:
            return await asked(effect, under: generation)
        }
    }

    private func token() async -> Outcome {
        do throws(DeviceTokenFailure) {
            return (.issued(.success(try await environment.tokens.token())), nil)
        } catch {
            let error = DeviceError(.token, "the system issued no device token: \(error)")
            return (.issued(.failure(error)), error)
        }
    }

    // MARK: With the login

    private func asked(_ effect: DeviceEffect, under generation: Int64) async -> Outcome {
        switch effect {
        case .fetchProof:
            let result = await attempt { () throws(DeviceError) in
                try await self.authorized(under: generation) {
                    api,
                    session throws(DeviceError) in
                    try await api.proof(of: session.sessionID, session.tokens.access)
                }
            }
            return answered(.proof(result), result, generation)
        case .save(let preferences, let revision):
            let result = await attempt { () throws(DeviceError) in
                try await self.authorized(under: generation) {
                    api,
                    session throws(DeviceError) in
                    try await api.save(
                        preferences,
                        expectedRevision: revision,
                        session.tokens.access
                    )
                }
            }
            return answered(.saved(result, of: preferences), result, generation)
        case .register(let registration, let revision):
            let result = await attempt { () throws(DeviceError) in
                try await self.register(registration, revision, under: generation)
            }
            return answered(.registered(result, registration), result, generation)
        default:
            let result = await attempt { () throws(DeviceError) in
                try await self.authorized(under: generation) {
                    api,
                    session throws(DeviceError) in
                    try await api.settings(session.tokens.access)
                }
            }
            return answered(.settings(result), result, generation)
        }
    }

    private func attempt<Value>(
        _ body: () async throws(DeviceError) -> Value
    ) async -> Result<Value, DeviceError> {
        do throws(DeviceError) { return .success(try await body()) } catch {
            return .failure(error)
        }
    }

    private func answered<Value>(
        _ answer: DeviceEvent.Answer,
        _ result: Result<Value, DeviceError>,
        _ generation: Int64
    ) -> Outcome {
        var trouble: DeviceError?
        if case .failure(let error) = result { trouble = error }
        return (.answered(answer, generation: generation), trouble)
    }

    /// The key is stored before the server hears of it, and takes its place once the server has it.
    private func register(
        _ registration: Enrollment.Registration,
        _ revision: Int64,
        under generation: Int64
    ) async throws(DeviceError) -> PushSettings {
        let session = try await usable(under: generation)
        let keyring = try keyring(of: session)
        let entry = keyring.toRegister
        guard entry.id == registration.keyID else { throw .superseded }
        let settings = try await authorized(under: generation) {
            api,
            session throws(DeviceError) in
            try await api.register(
                PushRegistration(
                    expectedRevision: revision,
                    deviceToken: registration.issued.token,
                    environment: registration.issued.environment,
                    contentKeyID: entry.id,
                    contentKey: entry.key,
                    deploymentID: session.deploymentID
                ),
                session.tokens.access
            )
        }
        let now = now
        try transact { state throws(DeviceError) in
            guard state.generation == generation else { throw .superseded }
            var keyring = try self.keyring(of: session)
            keyring.confirm(entry, at: now)
            try self.environment.store.store(keyring, .keys)
        }
        return settings
    }

    // MARK: Without the login

    /// Tries one piece of evidence after the other; only what the server says about the evidence
    /// itself leads to the next.
    private func end(_ end: SessionEnd) async -> Outcome {
        var refusal: DeviceError?
        for evidence in end.evidence {
            do throws(DeviceError) {
                let api = MobileAPI(
                    address: try ServerAddress(end.server),
                    transport: environment.transport
                )
                try await api.revoke(end, by: evidence)
                return (.ended(end.sessionID, .success(())), nil)
            } catch {
                refusal = error
                guard error.code == .unauthorized, error.serverCode != nil else { break }
            }
        }
        guard let refusal else { return (nil, nil) }
        return (.ended(end.sessionID, .failure(refusal)), refusal)
    }

    /// Keys and recipient are those of the login, or there are none.
    private func keepKeys(of session: SessionID?) throws(DeviceError) -> DeviceEvent? {
        let random = environment.random
        return try transact { state throws(DeviceError) in
            let store = self.environment.store
            guard let login = state.login ?? state.lost, login.session.sessionID == session else {
                try store.remove(.keys)
                try store.remove(.recipient)
                return nil
            }
            let recipient = Recipient(login.session.identity)
            if try store.value(.recipient) != recipient { try store.store(recipient, .recipient) }
            guard state.login != nil else { return nil }
            let keyring: ContentKeyring? = try store.value(.keys)
            if var keyring, keyring.sessionID == session {
                if keyring.forgetExpired(at: self.now) { try store.store(keyring, .keys) }
                let id = keyring.toRegister.id
                return id == login.enrollment.keyID ? nil : .keyStaged(id)
            }
            guard let entry = ContentKeyring.Entry.make(random: random) else {
                throw .storage("there are no random bytes for a content key")
            }
            let made = ContentKeyring(sessionID: login.session.sessionID, current: entry)
            try store.store(made, .keys)
            return .keyStaged(entry.id)
        }
    }

    func keyring(of session: Session) throws(DeviceError) -> ContentKeyring {
        let stored: ContentKeyring? = try environment.store.value(.keys)
        guard let stored, stored.sessionID == session.sessionID else {
            throw .storage("the content key of this login is missing")
        }
        return stored
    }
}
