import Contracts
import RegistrationCore
import RegistrationService
import Testing

extension StoreConformanceTests {
    @Test(arguments: Implementation.allCases)
    func aStepIsGoodOnce(_ implementation: Implementation) async throws {
        try await implementation.run { store in
            let alice = try await Self.signIn(store, "alice", tokens: 1)
            let user = alice.session.userID
            let secret = Self.blob(5, 5)
            #expect(
                try await store.changeTOTP(of: .id(user), secret: secret, by: nil, now: Self.start)
                    == user
            )
            #expect(try await store.account(.username("alice"))?.totpSecret == secret)
            func opens(_ step: Int64?, _ number: UInt8) async throws -> Bool {
                let session = Self.session("p", tokens: number, at: Self.start)
                let proof = SessionProof.password(user, hash: "hash", step: step)
                return try await store.openSession(session, by: proof) != nil
            }
            #expect(try await !opens(nil, 2))
            #expect(try await opens(7, 3))
            #expect(try await !opens(7, 4))
            #expect(try await !opens(6, 5))
            #expect(try await opens(8, 6))
            #expect(try await store.account(.username("alice"))?.totpLastStep == 8)
            _ = try await store.changeTOTP(of: .id(user), secret: nil, by: nil, now: Self.start)
            #expect(try await !opens(9, 7))
            #expect(try await opens(nil, 8))
        }
    }

    @Test(arguments: Implementation.allCases)
    func recoversSessionsOfOneAccountAndInstallation(
        _ implementation: Implementation
    ) async throws {
        try await implementation.run { store in
            let alice = try await Self.signIn(store, "alice", tokens: 1)
            let bob = try await Self.signIn(store, "bob", tokens: 2)
            let now = alice.session.expiresAt
            let user = alice.session.userID
            let hash = Self.blob(6, 6)
            let wrong = SessionProof.password(user, hash: "other", step: nil)
            let phone = alice.session.installationID
            #expect(try await store.openRecovery(hash, on: phone, by: wrong, now: now) == nil)
            let right = SessionProof.password(user, hash: "hash", step: nil)
            let opened = try await store.openRecovery(hash, on: phone, by: right, now: now)
            let recovery = try #require(opened)
            #expect(try await store.recovery(hash, now: now) == recovery)
            let end = now.adding(seconds: Recovery.lifetimeSeconds)
            #expect(try await store.recovery(hash, now: end) == nil)
            // The session has expired and is listed all the same.
            let listed = try await store.sessions(of: recovery)
            #expect(listed.map(\.sessionID) == [alice.session.id])
            #expect(try await !store.endSession(bob.session.id, of: recovery))
            #expect(try await store.endSession(alice.session.id, of: recovery))
            #expect(try await store.sessions(of: recovery).isEmpty)
            // Used up; and one that was not used is for no session that begins after it.
            #expect(try await store.recovery(hash, now: now) == nil)
            let unused = Self.blob(6, 7)
            _ = try await store.openRecovery(unused, on: phone, by: right, now: now)
            let later = Self.session(phone.text, tokens: 3, at: now)
            let caller = try #require(try await store.openSession(later, by: right))
            #expect(try await store.recovery(unused, now: now) == nil)
            #expect(try await !store.endSession(caller.session.id, of: recovery))
        }
    }
}
