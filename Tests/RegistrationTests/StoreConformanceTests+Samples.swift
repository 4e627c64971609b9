import Contracts
import RegistrationCore
import RegistrationService
import Testing

extension StoreConformanceTests {
    static func signIn(
        _ store: any RegistrationStore,
        _ user: String,
        tokens: UInt8
    ) async throws -> Caller {
        let account = Account(id: UserID("id-\(user)"), username: user, role: .member)
        _ = try await store.addAccount(account, passwordHash: "hash", by: nil, now: start)
        return try #require(
            try await store.openSession(
                session("phone-\(user)", tokens: tokens, at: start),
                by: .password(account.id, hash: "hash", step: nil)
            )
        )
    }

    static func register(
        _ store: any RegistrationStore,
        _ caller: Caller,
        token: String
    ) async throws {
        _ = try await store.save(
            SettingsUpdate(
                expectedRevision: 0,
                preferences: Preferences(enabled: true, alerts: true)
            ),
            by: caller,
            now: start
        )
        var registration = InstallationRuleTests.registration()
        registration.sessionID = caller.session.id
        registration.token = InstallationRuleTests.token(token)
        let view = try await store.register(
            registration,
            expectedRevision: 1,
            by: caller,
            now: start.start
        )
        #expect(view.registered)
    }

    static func session(
        _ installation: String,
        tokens: UInt8,
        at now: UnixSeconds
    ) -> NewSession {
        NewSession(
            id: SessionID("session-\(tokens)"),
            device: SignInDevice(installationID: InstallationID(installation), name: "Phone"),
            tokens: self.tokens(tokens),
            createdAt: now,
            expiresAt: now.adding(seconds: 2_592_000),
            accessExpiresAt: now.adding(seconds: 900)
        )
    }

    static func tokens(_ number: UInt8) -> TokenHashes {
        TokenHashes(access: blob(number, 0), refresh: blob(number, 1))
    }

    static func blob(_ first: UInt8, _ second: UInt8) -> Blob {
        Blob([first, second])
    }
}
