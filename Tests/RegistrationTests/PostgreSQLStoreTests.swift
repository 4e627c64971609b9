import Contracts
import PushBusCrypto
import RegistrationCore
import RegistrationService
import Storage
import TestKit
import Testing

/// What only the store on PostgreSQL does.
@Suite(.timeLimit(.minutes(2)))
struct PostgreSQLStoreTests {
    private let server: PostgreSQLServer
    private let database: String
    private let url: PostgreSQLURL

    init() throws {
        server = try PostgreSQLServer.shared.get()
        let text = try server.database()
        database = String(text.split(separator: "/").last ?? "")
        url = try PostgreSQLURL(text)
    }

    private func open() async throws -> PostgreSQLRegistrationStore {
        try await PostgreSQLRegistrationStore.open(url) { SHA256.hash($0) }
    }

    private func add(_ name: String, to store: PostgreSQLRegistrationStore) async throws {
        _ = try await store.addAccount(
            Account(id: UserID("id-\(name)"), username: name, role: .member),
            passwordHash: "hash",
            by: nil,
            now: StoreConformanceTests.start
        )
    }

    /// Ends every session of the database, as an operator or a failing server does.
    private func cutConnections() throws {
        try server.sql(
            """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE datname = '\(database)'
            """
        )
    }

    /// Repeats what fails while the server notices what happened.
    private func eventually<Value>(_ body: () async throws -> Value) async throws -> Value {
        while true {
            try Task.checkCancellation()
            if let value = try? await body() { return value }
        }
    }

    @Test func hasOneOwnerAtATime() async throws {
        let first = try await open()
        let refusal = await #expect(throws: StorageError.self) { try await open() }
        #expect(refusal?.kind == .alreadyRunning)
        #expect(refusal?.message.contains("another process owns pushbus_registration") == true)
        await first.close()
        let second = try await open()
        await second.close()
    }

    @Test func goesOnAfterItsConnectionsWereCut() async throws {
        let store = try await open()
        try await add("alice", to: store)
        try cutConnections()
        try await eventually { try await add("bob", to: store) }
        #expect(try await store.account(.username("alice")) != nil)
        #expect(try await store.account(.username("bob")) != nil)
        await store.close()
    }

    @Test func pausesWhileAnotherProcessIsTheOwner() async throws {
        let first = try await open()
        try cutConnections()
        let second = try await eventually { try await open() }
        let refusal = await #expect(throws: StorageError.self) {
            try await add("alice", to: first)
        }
        #expect(refusal?.kind == .connectionLost)
        #expect(refusal?.message.contains("another process owns") == true)
        #expect(try await second.account(.username("alice")) == nil)
        await second.close()
        try await eventually { try await add("alice", to: first) }
        await first.close()
    }

    @Test func recognisesADumpThatWasReadIn() async throws {
        let store = try await open()
        #expect(try await store.generation() == StoreGeneration(number: 0, isBackup: false))
        try await store.begin(generation: 3, anew: false)
        #expect(try await store.generation() == StoreGeneration(number: 3, isBackup: false))
        await store.close()
        // What pg_restore does: the same rows in tables made anew.
        try server.sql(
            """
            SET search_path = pushbus_registration;
            CREATE TABLE restored (LIKE generation INCLUDING ALL);
            INSERT INTO restored SELECT * FROM generation;
            DROP TABLE generation;
            ALTER TABLE restored RENAME TO generation;
            """,
            in: database
        )
        let restored = try await open()
        let generation = try await restored.generation()
        #expect(generation.isRestored(recorded: 3))
        try await restored.begin(generation: 4, anew: true)
        #expect(try await !restored.generation().isRestored(recorded: 4))
        await restored.close()
    }

    @Test func isCopiedWithTheToolsOfTheServer() async throws {
        let store = try await open()
        let refusal = await #expect(throws: StorageError.self) {
            try await store.backup(to: "/tmp/never-written")
        }
        #expect(refusal?.kind == .unsupported)
        #expect(refusal?.message.contains("pg_dump") == true)
        await store.close()
    }
}
