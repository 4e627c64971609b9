import Contracts
import RegistrationCore
import RegistrationService
import Testing

extension StoreConformanceTests {
    @Test(arguments: Implementation.allCases)
    func endsSessionsOfTheirAccountOnly(_ implementation: Implementation) async throws {
        try await implementation.run { store in
            let alice = try await Self.signIn(store, "alice", tokens: 1)
            let bob = try await Self.signIn(store, "bob", tokens: 2)
            let now = Self.start
            let devices = try await store.devices(of: alice.session.userID, now: now)
            #expect(devices.map(\.sessionID) == [alice.session.id])
            #expect(devices.first?.lastActiveAt == now)
            let end = alice.session.expiresAt
            #expect(try await store.devices(of: alice.session.userID, now: end).isEmpty)
            let (user, id) = (bob.session.userID, alice.session.id)
            #expect(try await !store.endSession(id, of: user, now: now))
            #expect(try await !store.endSession(id, of: alice.session.userID, now: end))
            #expect(try await store.endSession(id, of: alice.session.userID, now: now))
            #expect(try await !store.endSession(id, of: alice.session.userID, now: now))
            #expect(try await store.caller(accessHash: Self.blob(2, 0), now: now) != nil)
        }
    }

    @Test(arguments: Implementation.allCases)
    func revokesByEvidenceOfThatSession(_ implementation: Implementation) async throws {
        try await implementation.run { store in
            let alice = try await Self.signIn(store, "alice", tokens: 1)
            let bob = try await Self.signIn(store, "bob", tokens: 2)
            let proof = Self.blob(7, 7)
            try await store.saveProof(proof, of: alice, now: Self.start)
            #expect(try await store.revoke(bob.session.id, evidence: proof) == .refused)
            #expect(try await store.revoke(alice.session.id, evidence: Self.blob(7, 8)) == .refused)
            #expect(try await store.revoke(alice.session.id, evidence: proof) == .ended)
            #expect(try await store.revoke(alice.session.id, evidence: proof) == .absent)
            await #expect(throws: RequestProblem.unauthorized) {
                try await store.saveProof(proof, of: alice, now: Self.start)
            }
            _ = try await store.refresh(
                Self.blob(2, 1),
                to: Self.tokens(3),
                lifetimes: SessionLifetimes(),
                now: Self.start
            )
            #expect(try await store.owner(refreshHash: Self.blob(2, 1), now: Self.start) == nil)
            #expect(
                try await store.owner(refreshHash: Self.blob(3, 1), now: Self.start)
                    == bob.session.userID
            )
            #expect(try await store.revoke(bob.session.id, evidence: Self.blob(2, 1)) == .ended)
        }
    }

    @Test(arguments: Implementation.allCases)
    func keepsTheNewestProofs(_ implementation: Implementation) async throws {
        try await implementation.run { store in
            let alice = try await Self.signIn(store, "alice", tokens: 1)
            for number in 0...UInt8(Revocation.mostProofs) {
                try await store.saveProof(Self.blob(9, number), of: alice, now: Self.start)
            }
            #expect(try await store.revoke(alice.session.id, evidence: Self.blob(9, 0)) == .refused)
            #expect(try await store.revoke(alice.session.id, evidence: Self.blob(9, 1)) == .ended)
        }
    }
}
