import Glibc
import Loop
import Storage
import TestKit
import Testing

@Suite struct PostgreSQLTests {
    @Test(arguments: [
        SQLValue.null, .int(Int64.min), .int(Int64.max), .int(0), .text(""), .text("文字 é 😀"),
        .blob([]), .blob([0, 1, 255]),
    ])
    func valuesComeBack(_ value: SQLValue) async throws {
        try await PostgreSQLStore.with { _, database in
            let back = try await database.read { connection in
                try connection.first("SELECT $1", [value]) { $0[0] }
            }
            #expect(back == value)
        }
    }

    @Test func arraysComeAsRows() async throws {
        try await PostgreSQLStore.with { _, database in
            let rows = try await database.read { connection in
                try connection.query(
                    "SELECT * FROM unnest($1, $2, $3)",
                    arrays: [
                        .ints([1, nil, -3]), .texts(["a", "", nil]), .blobs([nil, [], [7]]),
                    ]
                ) { [$0[0], $0[1], $0[2]] }
            }
            #expect(
                rows == [[1, "a", .null], [.null, "", .blob([])], [-3, .null, .blob([7])]]
            )
            let none = try await database.read { connection in
                try connection.query("SELECT * FROM unnest($1)", arrays: [.ints([])]) { $0[0] }
            }
            #expect(none.isEmpty)
        }
    }

    @Test(arguments: [
        0, 1, -1, 9_999, 10_000, 123_456_789, -100_000_000, 1_000_000_000_000_000_000,
    ])
    func sumsAreWholeNumbers(_ number: Int64) async throws {
        try await PostgreSQLStore.with { _, database in
            let sum = try await database.read { connection in
                try connection.first(
                    "SELECT sum(n) FROM unnest($1) AS n",
                    arrays: [.ints([number])]
                )
            }
            #expect(sum == number)
        }
    }

    @Test func oneTextServesBothDatabases() async throws {
        func work(_ database: any SQLDatabase) async throws -> [String] {
            try await database.write { connection in
                for name in ["b", "a", "b"] {
                    try connection.execute(
                        "INSERT INTO item (name) VALUES ($1) ON CONFLICT DO NOTHING",
                        [.text(name)]
                    )
                }
            }
            return try await database.read { connection in
                try connection.query(
                    "SELECT name FROM item NOT INDEXED WHERE $1 IS NULL OR name = $1 ORDER BY name",
                    [.null]
                ) { $0.text(0) }
            }
        }
        try await PostgreSQLStore.with { _, database in
            let found = try await work(database)
            #expect(found == ["a", "b"])
        }
        try await TemporaryStore.with { _, database in
            let found = try await work(database)
            #expect(found == ["a", "b"])
        }
    }

    @Test func writesThatQueueShareACommitAndFailAlone() async throws {
        var options = PostgreSQLStore.options
        options.ownership = .exclusive
        try await PostgreSQLStore.with(options: options) { _, database in
            let gate = Gate()
            let ready = Observed(0)
            async let first: Void = database.write { _ in gate.waitUntilOpen() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        ready.update { $0 += 1 }
                        let failure = await kind { try await database.add("item \(number % 15)") }
                        #expect(failure == nil || failure == .constraint)
                    }
                }
                await ready.wait { $0 == 20 }
                gate.open()
                try await group.waitForAll()
            }
            try await first
            let found = try await database.allNames().count
            #expect(found == 15)
            #expect(database.statistics.writes == 16)
            #expect(database.statistics.commits < 16)
        }
    }

    @Test func aThrowingClosureUndoesItself() async throws {
        struct Refusal: Error {}
        try await PostgreSQLStore.with { _, database in
            await #expect(throws: Refusal.self) {
                try await database.write { connection in
                    try connection.execute("INSERT INTO item (name) VALUES ('x')")
                    throw Refusal()
                }
            }
            let found = try await database.allNames()
            #expect(found == [])
        }
    }

    @Test func aReadMayNotWrite() async throws {
        try await PostgreSQLStore.with { _, database in
            let refused = await kind {
                _ = try await database.read { try $0.execute("DELETE FROM item") }
            }
            #expect(refused == .readOnly)
        }
    }

    @Test func aReadOnlyServerRefusesWithARetriableError() async throws {
        try await PostgreSQLStore.with { store, database in
            try store.server.sql(
                "ALTER DATABASE \(store.name) SET default_transaction_read_only = on"
            )
            try store.endSessions()
            #expect(await kind { try await database.add("x") } == .readOnly)
        }
    }

    @Test func aSecondOwnerIsRefused() async throws {
        var options = PostgreSQLStore.options
        options.ownership = .exclusive
        try await PostgreSQLStore.with(options: options) { store, _ in
            let exclusive = options
            #expect(
                await kind { _ = try await store.open(options: exclusive) } == .alreadyRunning
            )
        }
    }

    @Test func endedSessionsAreMadeAgain() async throws {
        try await PostgreSQLStore.with { store, database in
            try await database.add("before")
            try store.endSessions()
            try await database.add("after")
            let found = try await database.allNames()
            #expect(found == ["after", "before"])
            #expect(database.statistics.retries > 0)
        }
    }

    @Test func aServerThatDoesNotAnswerIsGivenUp() async throws {
        var options = PostgreSQLStore.options
        options.statementTimeout = .milliseconds(200)
        options.connectTimeout = .milliseconds(300)
        options.commitTimeout = .milliseconds(300)
        let time = ManualTime()
        try await PostgreSQLStore.with(PostgreSQLServer(), options: options, time: time) {
            store,
            database in
            try await database.add("before")
            try store.server.send(SIGSTOP)
            #expect(await kind { try await database.add("lost") } == .connectionLost)
            try store.server.send(SIGCONT)
            time.advance(by: .seconds(10))
            try await database.add("after")
            let found = try await database.allNames()
            #expect(Set(found).isSuperset(of: ["before", "after"]))
        }
    }

    @Test func whatWasCommittedSurvivesAnImmediateStop() async throws {
        let time = ManualTime()
        try await PostgreSQLStore.with(PostgreSQLServer(), time: time) { store, database in
            try await database.add("acked")
            store.server.stop()
            #expect(await kind { try await database.add("x") } == .connectionLost)
            try store.server.start()
            time.advance(by: .seconds(10))
            let found = try await database.allNames()
            #expect(found == ["acked"])
        }
    }

    @Test func deadlocksAreRunAgain() async throws {
        try await PostgreSQLStore.with { _, database in
            for name in ["a", "b"] { try await database.add(name) }
            let rounds = 20
            try await withThrowingTaskGroup(of: Void.self) { group in
                for order in [["a", "b"], ["b", "a"]] {
                    group.addTask {
                        for _ in 0..<rounds {
                            try await database.write { connection in
                                for name in order {
                                    try connection.execute(
                                        "UPDATE item SET body = coalesce(body, ''::bytea) || '\\x01' WHERE name = $1",
                                        [.text(name)]
                                    )
                                }
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let lengths = try await database.read {
                try $0.query("SELECT length(body) FROM item") { $0.int(0) }
            }
            #expect(lengths == [40, 40])
        }
    }

    @Test func newerAndForeignSchemasAreRefused() async throws {
        try await PostgreSQLStore.with { store, _ in
            #expect(await kind { _ = try await store.open([]) } == .newerSchema)
            let foreign = [Migration(number: 1, name: "other", statements: [])]
            #expect(await kind { _ = try await store.open(foreign) } == .foreignSchema)
        }
    }

    @Test func processesThatStartTogetherMigrateOnce() async throws {
        let store = try PostgreSQLStore()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 { group.addTask { try await store.open().close() } }
            try await group.waitForAll()
        }
    }
}

extension PostgreSQLConnection {
    fileprivate func first(_ sql: String, arrays: [PostgreSQLValue]) throws -> Int64? {
        try query(sql, arrays: arrays) { $0.int(0) }.first
    }
}

extension PostgreSQLStore {
    fileprivate var name: Substring { url.description.split(separator: "/").last ?? "" }

    /// Ends all sessions of the test's database, as an administrator would.
    fileprivate func endSessions() throws {
        try server.sql(
            """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE datname = '\(name)'
            """
        )
    }
}
