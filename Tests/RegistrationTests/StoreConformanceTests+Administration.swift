import Contracts
import RegistrationCore
import RegistrationService
import Testing

extension StoreConformanceTests {
    @Test(arguments: Implementation.allCases)
    func changesRolesInOneOrder(_ implementation: Implementation) async throws {
        try await implementation.run { store in
            let alice = try await Self.signIn(store, "alice", tokens: 1)
            try await Self.register(store, alice, token: "aa01")
            let name = AccountName.username("alice")
            let before = try await store.watermark()
            let same = try #require(
                try await store.changeRole(of: name, to: .member, by: nil, now: Self.start)
            )
            #expect(same == (alice.session.userID, .member))
            #expect(try await store.watermark() == before)
            _ = try await store.changeRole(of: name, to: .admin, by: nil, now: Self.start)
            #expect(try await store.watermark() == before + 1)
            let caller = try await store.caller(accessHash: Self.blob(1, 0), now: Self.start)
            #expect(caller?.role == .admin)
            _ = try await store.changeRole(of: name, to: .member, by: nil, now: Self.start)
            #expect(try await store.watermark() == before + 1)
            #expect(
                try await store.changeRole(
                    of: .username("nobody"),
                    to: .admin,
                    by: nil,
                    now: Self.start
                ) == nil
            )
        }
    }

    @Test(arguments: Implementation.allCases)
    func aPasswordThatWasReplacedOpensNothing(_ implementation: Implementation) async throws {
        try await implementation.run { store in
            let alice = try await Self.signIn(store, "alice", tokens: 1)
            let user = alice.session.userID
            let changed = try #require(
                try await store.changePassword(of: .id(user), hash: "new", by: nil, now: Self.start)
            )
            #expect(changed == (user, 1))
            let session = Self.session("p", tokens: 2, at: Self.start)
            let old = SessionProof.password(user, hash: "hash", step: nil)
            #expect(try await store.openSession(session, by: old) == nil)
            let new = SessionProof.password(user, hash: "new", step: nil)
            #expect(try await store.openSession(session, by: new) != nil)
        }
    }

    @Test(arguments: Implementation.allCases)
    func deletesAnAccountWithAllItHas(_ implementation: Implementation) async throws {
        try await implementation.run { store in
            let alice = try await Self.signIn(store, "alice", tokens: 1)
            try await Self.register(store, alice, token: "aa01")
            let user = alice.session.userID
            let gone = try #require(
                try await store.deleteAccount(.id(user), by: nil, now: Self.start)
            )
            #expect(gone == (user, 1))
            #expect(try await store.deleteAccount(.id(user), by: nil, now: Self.start) == nil)
            #expect(try await store.account(.username("alice")) == nil)
            let left = try await store.accounts(after: nil, limit: 9, now: Self.start)
            #expect(left.accounts.isEmpty)
            let page = AudiencePage(
                category: .alert,
                watermark: .max,
                audience: .everyone,
                after: nil,
                limit: 9
            )
            let row = try await store.audience(page, now: Self.start).rows.first
            #expect(row?.installation.userID == nil)
            #expect(row?.installation.registration == nil)
            #expect(row?.standing.role == nil)
        }
    }
}
