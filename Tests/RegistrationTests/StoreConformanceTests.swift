import Contracts
import PushBusCrypto
import RegistrationCore
import RegistrationService
import Storage
import TestKit
import Testing

/// What every implementation of the store has to do.
@Suite(.timeLimit(.minutes(2)))
struct StoreConformanceTests {
    /// The implementations there are.
    enum Implementation: CaseIterable {
        case sqlite
        case postgreSQL

        func run(_ body: (any RegistrationStore) async throws -> Void) async throws {
            switch self {
            case .sqlite:
                let directory = try TemporaryDirectory()
                let store = try await SQLiteRegistrationStore.open(
                    path: directory.file("registration.db"),
                    hash: { SHA256.hash($0) }
                )
                await StoreConformanceTests.use(store, body, close: store.close)
            case .postgreSQL:
                let store = try await PostgreSQLRegistrationStore.open(
                    PostgreSQLURL(PostgreSQLServer.shared.get().database()),
                    hash: { SHA256.hash($0) }
                )
                await StoreConformanceTests.use(store, body, close: store.close)
            }
        }
    }

    fileprivate static func use(
        _ store: any RegistrationStore,
        _ body: (any RegistrationStore) async throws -> Void,
        close: () async -> Void
    ) async {
        do {
            try await body(store)
        } catch {
            Issue.record(error)
        }
        await close()
    }

    static let start = UnixSeconds(1_800_000_000)

    @Test(arguments: Implementation.allCases)
    func keepsAccounts(_ implementation: Implementation) async throws {
        try await implementation.run { store in
            let account = Account(id: UserID("u1"), username: "alice", role: .admin)
            let first = try await store.addAccount(
                account,
                passwordHash: "h1",
                by: nil,
                now: Self.start
            )
            #expect(first == (UserID("u1"), true))
            let other = Account(id: UserID("u2"), username: "alice", role: .member)
            let second = try await store.addAccount(
                other,
                passwordHash: "h2",
                by: nil,
                now: Self.start
            )
            #expect(second == (UserID("u1"), false))
            let stored = try #require(try await store.account(.username("alice")))
            #expect(stored.account == account)
            #expect(stored.passwordHash == "h1")
            #expect(!"\(stored)".contains("h1"))
            #expect(try await store.account(.username("Alice")) == nil)
        }
    }

    @Test(arguments: Implementation.allCases)
    func tradesTokens(_ implementation: Implementation) async throws {
        try await implementation.run { store in
            let caller = try await Self.signIn(store, "alice", tokens: 1)
            let now = Self.start
            #expect(try await store.caller(accessHash: Self.blob(1, 0), now: now) == caller)
            #expect(try await store.caller(accessHash: Self.blob(1, 1), now: now) == nil)
            let late = now.adding(seconds: 900)
            #expect(try await store.caller(accessHash: Self.blob(1, 0), now: late) == nil)
            let renewed = try await store.refresh(
                Self.blob(1, 1),
                to: Self.tokens(2),
                lifetimes: SessionLifetimes(),
                now: late
            )
            #expect(renewed?.session.accessExpiresAt == late.adding(seconds: 900))
            #expect(renewed?.session.expiresAt == caller.session.expiresAt)
            let again = try await store.refresh(
                Self.blob(1, 1),
                to: Self.tokens(3),
                lifetimes: SessionLifetimes(),
                now: late
            )
            #expect(again == nil)
            #expect(try await store.caller(accessHash: Self.blob(2, 0), now: late) != nil)
            try await store.endSession(caller.session.id)
            try await store.endSession(caller.session.id)
            #expect(try await store.caller(accessHash: Self.blob(2, 0), now: late) == nil)
        }
    }

    @Test(arguments: Implementation.allCases)
    func spendsAPairingCodeOnce(_ implementation: Implementation) async throws {
        try await implementation.run { store in
            _ = try await Self.signIn(store, "alice", tokens: 1)
            let code = Self.blob(9, 9)
            let end = Self.start.adding(seconds: 300)
            #expect(
                try await !store.savePairingCode(
                    code,
                    for: .username("nobody"),
                    expiresAt: end,
                    by: nil,
                    now: Self.start
                )
            )
            #expect(
                try await store.savePairingCode(
                    code,
                    for: .id(UserID("id-alice")),
                    expiresAt: end,
                    by: nil,
                    now: Self.start
                )
            )
            let late = Self.session("late", tokens: 2, at: end)
            #expect(try await store.openSession(late, by: .pairing(code)) == nil)
            let timely = Self.session("timely", tokens: 3, at: Self.start)
            #expect(try await store.openSession(timely, by: .pairing(code)) != nil)
            let repeated = Self.session("repeated", tokens: 4, at: Self.start)
            #expect(try await store.openSession(repeated, by: .pairing(code)) == nil)
        }
    }

    @Test(arguments: Implementation.allCases)
    func countsBindingsInOneOrder(_ implementation: Implementation) async throws {
        try await implementation.run { store in
            #expect(try await store.watermark() == 0)
            for index in 1...3 {
                let caller = try await Self.signIn(store, "user\(index)", tokens: UInt8(index))
                try await Self.register(store, caller, token: "aa0\(index)")
                // One number for the category, one for the binding.
                #expect(try await store.watermark() == Int64(index * 2))
            }
            let page = AudiencePage(
                category: .alert,
                watermark: .max,
                audience: .everyone,
                after: nil,
                limit: 2
            )
            let first = try await store.audience(page, now: Self.start)
            #expect(first.rows.map(\.installation.id.text) == ["phone-user1", "phone-user2"])
            #expect(first.rows.map(\.installation.binding) == [2, 4])
            #expect(first.more)
            var next = page
            next.after = first.rows.last?.installation.id
            let second = try await store.audience(next, now: Self.start)
            #expect(second.rows.map(\.installation.id.text) == ["phone-user3"])
            #expect(!second.more)
            #expect(second.rows.first?.standing.sessionIsAlive == true)
            var none = page
            none.audience = Audience(userID: UserID("nobody"))
            #expect(try await store.audience(none, now: Self.start).rows.isEmpty)
        }
    }

    @Test(arguments: Implementation.allCases)
    func aRefusedWriteLeavesNothing(_ implementation: Implementation) async throws {
        try await implementation.run { store in
            let caller = try await Self.signIn(store, "alice", tokens: 1)
            let stale = SettingsUpdate(
                expectedRevision: 1,
                preferences: Preferences(enabled: true, alerts: true)
            )
            await #expect(throws: RequestProblem.staleRevision) {
                try await store.save(stale, by: caller, now: Self.start)
            }
            #expect(try await store.watermark() == 0)
            #expect(try await store.settings(of: caller, now: Self.start).revision == 0)
            try await store.endSession(caller.session.id)
            await #expect(throws: RequestProblem.unauthorized) {
                try await store.save(
                    SettingsUpdate(expectedRevision: 0, preferences: Preferences()),
                    by: caller,
                    now: Self.start
                )
            }
        }
    }

    @Test(arguments: Implementation.allCases)
    func forgetsWhatHasExpired(_ implementation: Implementation) async throws {
        try await implementation.run { store in
            let caller = try await Self.signIn(store, "alice", tokens: 1)
            try await Self.register(store, caller, token: "aa01")
            let event = try #require(EventID("11111111-1111-4111-8111-111111111111"))
            let test = try await store.requestTest(
                TestRequest(eventID: event, expectedRevision: 2),
                by: caller,
                now: Self.start
            )
            #expect(try await store.unsentTests(limit: 9, now: Self.start) == [test])
            let end = test.expiresAt
            #expect(try await store.unsentTests(limit: 9, now: end).isEmpty)
            // Only the access token has expired.
            #expect(try await store.purge(now: end) == 1)
            #expect(try await store.purge(now: end) == 0)
            // What an expired session registered goes at once, and the test; its row stays a while.
            #expect(try await store.purge(now: caller.session.expiresAt) == 2)
            #expect(try await store.test(event, of: caller) == nil)
            let recovery = Recovery(
                userID: caller.session.userID,
                installationID: caller.session.installationID
            )
            #expect(try await store.sessions(of: recovery).map(\.sessionID) == [caller.session.id])
            let last = caller.session.expiresAt.adding(seconds: Session.retentionSeconds)
            #expect(try await store.purge(now: last) == 1)
            #expect(try await store.sessions(of: recovery).isEmpty)
            let page = AudiencePage(
                category: .alert,
                watermark: .max,
                audience: .everyone,
                after: nil,
                limit: 9
            )
            let rows = try await store.audience(page, now: Self.start).rows
            #expect(rows.first?.installation.registration == nil)
        }
    }

    @Test(arguments: Implementation.allCases)
    func boundsTestsOfAnInstallation(_ implementation: Implementation) async throws {
        try await implementation.run { store in
            let caller = try await Self.signIn(store, "alice", tokens: 1)
            try await Self.register(store, caller, token: "aa01")
            func request(_ index: Int) async throws {
                let digits = String(100 + index)
                let id = try #require(EventID("11111111-1111-4111-8111-111111111\(digits)"))
                _ = try await store.requestTest(
                    TestRequest(eventID: id, expectedRevision: 2),
                    by: caller,
                    now: Self.start
                )
            }
            for index in 0..<50 { try await request(index) }
            await #expect(throws: RequestProblem.tooManyTests) { try await request(50) }
            try await request(0)
        }
    }
}
