import Contracts

/// Settings, registration and what the app does now and then.
extension PushDevice {
    /// Notes that the disclosure was shown, and goes on from there.
    package func disclosureShown() async throws(DeviceError) { try await ask(.disclosureShown) }

    /// Changes what is to be received. What the server does not take stays as an unconfirmed choice
    /// with its error, and the error is thrown.
    package func choose(_ changes: PreferenceChanges) async throws(DeviceError) {
        try await ask(.choose(changes))
    }

    /// Tries again what failed.
    package func retry() async throws(DeviceError) { try await ask(.retry) }

    /// Makes and registers a new content key; the one it replaces opens envelopes for thirty more
    /// minutes.
    package func rotateKey() async throws(DeviceError) {
        guard let entry = ContentKeyring.Entry.make(random: environment.random) else {
            throw .storage("there are no random bytes for a content key")
        }
        let now = now
        let work = try transact { state throws(DeviceError) in
            var keyring = try self.keyring(of: try state.ordinaryLogin.session)
            keyring.stage(entry)
            try self.environment.store.store(keyring, .keys)
            let effects = try state.handle(.keyStaged(entry.id), at: now)
            return Work(effects: effects, generation: state.generation)
        }
        if let failure = await perform(work) { throw failure }
    }

    /// Looks after clean-up, login, permission and registration; at launch, in the foreground, and
    /// when the network is back. The last thing that did not work is returned, not thrown: it is in
    /// the status as well.
    @discardableResult
    package func reconcile(
        _ occasion: DeviceEvent.Occasion
    ) async throws(DeviceError) -> DeviceError? {
        try await send(.reconcile(occasion))
    }

    /// Reconciles whenever the network comes back, until the task is cancelled.
    package func follow(_ connectivity: any Connectivity) async {
        while await connectivity.recovered() {
            _ = try? await reconcile(.networkRecovered)
        }
    }

    private func ask(_ event: DeviceEvent) async throws(DeviceError) {
        guard let failure = try await send(event) else { return }
        // What failed on the way and worked in the end is no failure.
        let enrollment = try state.ordinaryLogin.enrollment
        let troubles = [
            enrollment.draft?.trouble, enrollment.registrationTrouble, enrollment.contactTrouble,
        ]
        if failure.code == .storage || failure.code == .superseded
            || troubles.contains(where: { $0 != nil })
        {
            throw failure
        }
    }

    // MARK: Questions

    /// What the server has confirmed, read now.
    package func settings() async throws(DeviceError) -> PushSettings {
        let generation = try state.generation
        let settings = try await query { api, session throws(DeviceError) in
            try await api.settings(session.tokens.access)
        }
        await perform(try take(.answered(.settings(.success(settings)), generation: generation)))
        return settings
    }

    /// The account's sessions.
    package func devices() async throws(DeviceError) -> [SignedInDevice] {
        try await query { api, session throws(DeviceError) in
            try await api.devices(session.tokens.access)
        }
    }

    /// Ends another session of the account; this phone's own is ended by signing out.
    package func endDevice(_ session: SessionID) async throws(DeviceError) {
        guard try state.ordinaryLogin.session.sessionID != session else {
            throw DeviceError(.refused, "this is the login of this phone: sign out instead")
        }
        try await query { api, own throws(DeviceError) in
            try await api.endDevice(session, own.tokens.access)
        }
    }

    /// Asks for a test notification under an identifier of its own; asking again with the same
    /// identifier and revision changes nothing.
    package func requestTest(
        _ eventID: EventID,
        expectedRevision: Int64
    ) async throws(DeviceError) -> PushTestOutcome {
        try await query { api, session throws(DeviceError) in
            try await api.requestTest(
                eventID,
                expectedRevision: expectedRevision,
                session.tokens.access
            )
        }
    }

    /// What became of it.
    package func testOutcome(_ eventID: EventID) async throws(DeviceError) -> PushTestOutcome {
        try await query { api, session throws(DeviceError) in
            try await api.testOutcome(eventID, session.tokens.access)
        }
    }

    /// Asks with the login that is there now; what follows from a rejected login is done as well.
    func query<Answer: Sendable>(
        _ body: (MobileAPI, Session) async throws(DeviceError) -> Answer
    ) async throws(DeviceError) -> Answer {
        let state = try state
        _ = try state.ordinaryLogin
        do throws(DeviceError) {
            return try await authorized(under: state.generation, body)
        } catch {
            await perform(Work(effects: [], generation: state.generation))
            throw error
        }
    }
}
