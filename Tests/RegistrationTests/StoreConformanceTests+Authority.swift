import Contracts
import RegistrationCore
import RegistrationService
import Testing

/// A request may wait between the check of its token and its transaction, for a password to be hashed
/// or for other writers. What its session and role allow is decided by the transaction.
extension StoreConformanceTests {
    /// How an administrator ceases to be one.
    enum Loss: CaseIterable {
        case logout, expiry, demotion, password, deletion

        var problem: RequestProblem {
            self == .demotion ? .administratorsOnly : .unauthorized
        }
    }

    @Test(arguments: Implementation.allCases, Loss.allCases)
    func whoCeasedToAdministerChangesNothing(
        _ implementation: Implementation,
        _ loss: Loss
    ) async throws {
        try await implementation.run { store in
            let bob = AccountName.id(try await Self.signIn(store, "bob", tokens: 1).session.userID)
            let root = try await Self.administrator(store, "root", tokens: 2)
            let now = try await Self.lose(loss, root, store)
            let changes: [() async throws -> Void] = [
                {
                    let own = Account(id: UserID("own"), username: "own", role: .admin)
                    _ = try await store.addAccount(own, passwordHash: "h", by: root, now: now)
                },
                { _ = try await store.changeRole(of: bob, to: .admin, by: root, now: now) },
                { _ = try await store.changePassword(of: bob, hash: "h", by: root, now: now) },
                {
                    let secret = Self.blob(5, 5)
                    _ = try await store.changeTOTP(of: bob, secret: secret, by: root, now: now)
                },
                { _ = try await store.deleteAccount(bob, by: root, now: now) },
                { try await Self.pair(store, bob, by: root, now: now) },
            ]
            for change in changes {
                await #expect(throws: loss.problem) { try await change() }
            }
            #expect(try await store.account(.username("own")) == nil)
            let kept = try #require(try await store.account(bob))
            #expect(kept.account.role == .member)
            #expect(kept.passwordHash == "hash")
            #expect(kept.totpSecret == nil)
        }
    }

    @Test(arguments: Implementation.allCases)
    func aSessionAsksForCodesOfItsAccountWhileItStands(
        _ implementation: Implementation
    ) async throws {
        try await implementation.run { store in
            let bob = try await Self.signIn(store, "bob", tokens: 1)
            let own = AccountName.id(bob.session.userID)
            let other = AccountName.id(
                try await Self.signIn(store, "carol", tokens: 2).session.userID
            )
            try await Self.pair(store, own, by: bob, now: Self.start)
            await #expect(throws: RequestProblem.administratorsOnly) {
                try await Self.pair(store, other, by: bob, now: Self.start)
            }
            _ = try await Self.lose(.password, bob, store)
            await #expect(throws: RequestProblem.unauthorized) {
                try await Self.pair(store, own, by: bob, now: Self.start)
            }
        }
    }

    @Test(arguments: Implementation.allCases)
    func aSaveThatADemotionOvertookTakesNoCategoryOfAdministrators(
        _ implementation: Implementation
    ) async throws {
        try await implementation.run { store in
            let root = try await Self.administrator(store, "root", tokens: 1)
            _ = try await Self.lose(.demotion, root, store)
            await #expect(throws: RequestProblem.forbiddenCategory) {
                _ = try await store.save(
                    SettingsUpdate(
                        expectedRevision: 0,
                        preferences: Preferences(enabled: true, security: true)
                    ),
                    by: root,
                    now: Self.start
                )
            }
        }
    }

    private static func administrator(
        _ store: any RegistrationStore,
        _ name: String,
        tokens: UInt8
    ) async throws -> Caller {
        _ = try await signIn(store, name, tokens: tokens)
        _ = try await store.changeRole(of: .username(name), to: .admin, by: nil, now: start)
        return try #require(try await store.caller(accessHash: blob(tokens, 0), now: start))
    }

    /// Returns when it is then.
    private static func lose(
        _ loss: Loss,
        _ caller: Caller,
        _ store: any RegistrationStore
    ) async throws -> UnixSeconds {
        let name = AccountName.id(caller.session.userID)
        switch loss {
        case .logout: try await store.endSession(caller.session.id)
        case .expiry: return caller.session.expiresAt
        case .demotion: _ = try await store.changeRole(of: name, to: .member, by: nil, now: start)
        case .password:
            _ = try await store.changePassword(of: name, hash: "new", by: nil, now: start)
        case .deletion: _ = try await store.deleteAccount(name, by: nil, now: start)
        }
        return start
    }

    private static func pair(
        _ store: any RegistrationStore,
        _ account: AccountName,
        by caller: Caller,
        now: UnixSeconds
    ) async throws {
        let saved = try await store.savePairingCode(
            blob(9, 9),
            for: account,
            expiresAt: now.adding(seconds: 300),
            by: caller,
            now: now
        )
        #expect(saved)
    }
}
