import Contracts
import EventIngestService
import ServiceKit
import Storage
import TestKit
import Testing

/// What only the store on PostgreSQL does.
@Suite(.timeLimit(.minutes(2)))
struct PostgreSQLEventStoreTests {
    private func url() throws -> PostgreSQLURL {
        try PostgreSQLURL(PostgreSQLServer.shared.get().database())
    }

    @Test func hasOneOwnerAtATime() async throws {
        let url = try url()
        let first = try await PostgreSQLEventStore(url)
        let refusal = await #expect(throws: StorageError.self) {
            try await PostgreSQLEventStore(url)
        }
        #expect(refusal?.kind == .alreadyRunning)
        #expect(refusal?.message.contains("another process owns pushbus_eventingest") == true)
        await first.close()
        let second = try await PostgreSQLEventStore(url)
        await second.close()
    }

    @Test func itsClockIsTheServers() async throws {
        let store = try await PostgreSQLEventStore(url())
        let before = SystemTime().wall
        let now = try await store.claimDue(limit: 1).now
        let after = SystemTime().wall
        #expect(before <= now && now <= after.adding(milliseconds: 1))
        await store.close()
    }
}
