import Contracts

/// Requests with the access token of the login, and how it is renewed.
extension PushDevice {
    /// Seconds before its end at which an access token is refreshed.
    package static let refreshMarginSeconds: Int64 = 60

    /// Runs a call with an access token that is good for a while; refreshes once when the server
    /// refuses it all the same. A reply that comes after the login has changed is thrown away.
    func authorized<Answer: Sendable>(
        under generation: Int64,
        _ body: (MobileAPI, Session) async throws(DeviceError) -> Answer
    ) async throws(DeviceError) -> Answer {
        var session = try await usable(under: generation)
        let api = MobileAPI(
            address: try ServerAddress(session.server),
            transport: environment.transport
        )
        let answer: Answer
        do throws(DeviceError) {
            answer = try await body(api, session)
        } catch {
            guard error.status == 401 else { throw error }
            _ = try current(under: generation)
            session = try await refresh(replacing: session.tokens.access, under: generation)
            answer = try await body(api, session)
        }
        _ = try current(under: generation)
        return answer
    }

    /// The session of the login of that generation, with an access token that is good for a while.
    func usable(under generation: Int64) async throws(DeviceError) -> Session {
        let session = try current(under: generation).session
        let soon = now.adding(seconds: Self.refreshMarginSeconds)
        guard session.tokens.accessExpiresAt <= soon else { return session }
        return try await refresh(replacing: session.tokens.access, under: generation)
    }

    private func current(under generation: Int64) throws(DeviceError) -> Login {
        let state = try state
        let login = try state.ordinaryLogin
        guard state.generation == generation else { throw .superseded }
        return login
    }

    /// Trades the refresh token, unless somebody else has done so since `access` was read. One
    /// process at a time does it, because a refresh token is good once: a second trade would look
    /// like a stolen token.
    private func refresh(
        replacing access: String,
        under generation: Int64
    ) async throws(DeviceError) -> Session {
        await refreshTurn.take()
        defer { refreshTurn.give() }
        let session = try current(under: generation).session
        guard session.tokens.access == access else { return session }
        try claim(under: generation)
        let api = MobileAPI(
            address: try ServerAddress(session.server),
            transport: environment.transport
        )
        let next: Session
        do throws(DeviceError) {
            next = try await api.refresh(session, now: now)
        } catch {
            // Only the server's own word says that a login is over; a portal's does not.
            let isFinal = error.code == .unauthorized && error.serverCode != nil
            let work = try take(
                .answered(isFinal ? .rejected : .refreshFailed, generation: generation)
            )
            due += work.effects
            throw error
        }
        guard next.sessionID == session.sessionID, next.userID == session.userID else {
            _ = try take(.answered(.refreshFailed, generation: generation))
            throw DeviceError(.malformedReply, "the server answered with another session")
        }
        do throws(DeviceError) {
            _ = try take(.answered(.refreshed(next), generation: generation))
        } catch {
            unstoredSession = next
            throw error
        }
        return try current(under: generation).session
    }

    private func claim(under generation: Int64) throws(DeviceError) {
        let (now, name) = (now, processName)
        try transact { state throws(DeviceError) in
            if let lease = state.login?.lease, lease.owner != name, lease.holds(at: now) {
                throw DeviceError(.unavailable, "the login is being renewed: try again shortly")
            }
            _ = try state.handle(
                .answered(.refreshing(owner: name), generation: generation),
                at: now
            )
        }
    }
}
