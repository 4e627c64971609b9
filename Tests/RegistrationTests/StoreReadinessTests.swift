import Contracts
import ServiceKit
import TestKit
import Testing

/// What the process says about itself while its store takes no writes.
@Suite(.timeLimit(.minutes(2)))
struct StoreReadinessTests {
    @Test func isNotReadyUntilTheStoreTakesAWrite() async throws {
        try await RegistrationWorld.run(isFullAgain: true) { world in
            try await world.addUser("alice", role: .admin)
        } again: { world in
            let readiness = world.context.readiness
            #expect(readiness.isReady)
            let admin = try await world.login("alice", "p")
            var last = try await world.addUser(number: 0, by: admin)
            for number in 1..<200 where last.status == 200 {
                last = try await world.addUser(number: number, by: admin)
            }
            #expect(last.status == 503)
            #expect(last.code == "store_unavailable")
            try #require(!readiness.isReady)
            let store = readiness.conditions.first { $0.name == "store" }
            #expect(store?.standing.reason?.hasPrefix("does not take writes: ") == true)
            // Reading goes on, and a change that needs no more room is taken, without a request.
            #expect(try await admin.settings().status == 200)
            await world.time.waitForSleepers(3)
            world.time.advance(by: StoreProbe.interval)
            _ = await readiness.waitUntilStarted()
            #expect(readiness.isReady)
        }
    }
}

extension RegistrationWorld {
    fileprivate func addUser(number: Int, by admin: Phone) async throws -> Reply {
        let name = String(repeating: "x", count: 120) + String(number)
        return try await call(
            "POST",
            "/admin/users",
            "{\"username\":\"\(name)\",\"password\":\"correct horse\",\"role\":\"member\"}",
            token: admin.accessToken
        )
    }
}
