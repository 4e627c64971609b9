import Contracts
import RegistrationCore
import RegistrationService
import Testing

extension StoreConformanceTests {
    @Test(arguments: Implementation.allCases)
    func countsItsGenerations(_ implementation: Implementation) async throws {
        try await implementation.run { store in
            #expect(
                try await store.generation() == StoreGeneration(number: 0, isBackup: false)
            )
            let alice = try await Self.signIn(store, "alice", tokens: 1)
            try await Self.register(store, alice, token: "aa01")
            #expect(try await store.begin(generation: 7, anew: false) == 0)
            #expect(try await store.generation().number == 7)
            #expect(try await store.caller(accessHash: Self.blob(1, 0), now: Self.start) != nil)
        }
    }

    @Test(arguments: Implementation.allCases)
    func beginsAnewWithoutSessions(_ implementation: Implementation) async throws {
        try await implementation.run { store in
            let alice = try await Self.signIn(store, "alice", tokens: 1)
            try await Self.register(store, alice, token: "aa01")
            _ = try await Self.signIn(store, "bob", tokens: 2)
            let code = Self.blob(9, 9)
            let end = Self.start.adding(seconds: 300)
            _ = try await store.savePairingCode(
                code,
                for: .username("bob"),
                expiresAt: end,
                by: nil,
                now: Self.start
            )
            try await store.saveProof(Self.blob(7, 7), of: alice, now: Self.start)
            let event = try #require(EventID("11111111-1111-4111-8111-111111111111"))
            _ = try await store.requestTest(
                TestRequest(eventID: event, expectedRevision: 2),
                by: alice,
                now: Self.start
            )
            let before = try await store.watermark()
            #expect(try await store.begin(generation: 8, anew: true) == 2)
            #expect(try await store.watermark() == before + StoreGeneration.counterJump)
            for tokens in [1, 2] as [UInt8] {
                let hash = Self.blob(tokens, 0)
                #expect(try await store.caller(accessHash: hash, now: Self.start) == nil)
                let refresh = Self.blob(tokens, 1)
                #expect(try await store.owner(refreshHash: refresh, now: Self.start) == nil)
            }
            let paired = Self.session("other", tokens: 3, at: Self.start)
            #expect(try await store.openSession(paired, by: .pairing(code)) == nil)
            #expect(
                try await store.revoke(alice.session.id, evidence: Self.blob(7, 7)) == .absent
            )
            #expect(try await store.unsentTests(limit: 9, now: Self.start).isEmpty)
            let page = AudiencePage(
                category: .alert,
                watermark: .max,
                audience: .everyone,
                after: nil,
                limit: 9
            )
            let installation = try #require(
                try await store.audience(page, now: Self.start).rows.first?.installation
            )
            #expect(installation.registration == nil)
            // Accounts and preferences stay.
            #expect(installation.preferences.alerts)
            #expect(installation.revision == 3)
            #expect(try await store.account(.username("alice")) != nil)
        }
    }
}
