import Contracts
import RegistrationService
import Storage
import TestKit
import Testing

/// What has expired goes from the file by itself.
@Suite(.timeLimit(.minutes(2)))
struct HousekeepingTests {
    private static func count(_ directory: TemporaryDirectory, _ sql: String) async throws -> Int64
    {
        let database = try await SQLiteDatabase.open(
            path: directory.file("registration.db"),
            migrations: RegistrationSchema.migrations
        )
        let count = try await database.read { try $0.first(sql) { $0.int(0) } }
        await database.close()
        return try #require(count)
    }

    @Test func expiredAccessTokensArePurgedHourly() async throws {
        let tokens = "SELECT COUNT(*) FROM sessions WHERE access_hash IS NOT NULL"
        try await RegistrationWorld.run { world in
            _ = try await world.registeredPhone("alice")
            await world.time.waitForSleepers(1)
            world.time.advance(by: .seconds(2701))
            _ = try await world.registeredPhone("bob", token: "bb22")
            // An hour after the start; Alice's has expired, Bob's has not.
            world.time.advance(by: .seconds(899))
            await world.logs.wait(for: "expired rows forgotten")
        } between: { directory in
            let left = try await Self.count(directory, tokens)
            #expect(left == 1)
            let sessions = try await Self.count(directory, "SELECT COUNT(*) FROM sessions")
            #expect(sessions == 2)
        } again: { _ in
        }
    }

    @Test func whatProvedAnEndedSessionGoesWithIt() async throws {
        try await RegistrationWorld.run { world in
            let alice = try await world.registeredPhone("alice")
            let bob = try await world.registeredPhone("bob", token: "bb22")
            let carol = try await world.registeredPhone("carol", token: "cc33")
            for phone in [alice, bob, carol] {
                _ = try await phone.proof(of: phone.session.string("session_id"))
            }
            // Of each session a proof that was asked for; of Alice's and Bob's a used token too.
            #expect(try await alice.refreshed().logout().status == 200)
            _ = try await bob.refreshed()
            let id = bob.session.string("session_id")
            #expect(try await world.revoke(id, proof: bob.refreshToken).status == 200)
        } between: { directory in
            let left = try await Self.count(directory, "SELECT COUNT(*) FROM session_proofs")
            #expect(left == 1)
            #expect(try await Self.count(directory, "SELECT COUNT(*) FROM sessions") == 1)
        } again: { _ in
        }
    }

    @Test func anExpiredSessionCanBeFoundForThirtyDays() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            await world.time.waitForSleepers(1)
            world.time.advance(by: .seconds(2_592_000 + 7200))
            await world.logs.wait(for: "expired rows forgotten")
            let body = """
                {"username":"alice","password":"correct horse",\
                "installation_id":"\(phone.installation)"}
                """
            let opened = try await world.call("POST", "/auth/recovery", body)
            let token = opened.string("recovery_token")
            let list = try await world.call("GET", "/auth/recovery/sessions", token: token)
            #expect(list.text.contains(phone.session.string("session_id")))
        }
    }
}
