import Loop
import Storage
import Testing

@Suite struct GroupCommitTests {
    private struct Refused: Error {}

    @Test func manyWritesShareFewCommits() async throws {
        try await TemporaryStore.with { _, database in
            try await withThrowingTaskGroup { group in
                for number in 0..<1000 {
                    group.addTask { try await database.insert("n\(number)") }
                }
                try await group.waitForAll()
            }
            #expect(try await database.names().count == 1000)
            let statistics = try await database.statistics
            #expect(statistics.writes == 1000)
            #expect(statistics.commits < 1000)
            #expect(statistics.splitBatches == 0)
        }
    }

    /// Writes that queue while the thread is held make one batch; the held write is the first.
    private func asOneBatch(
        _ database: SQLiteDatabase,
        _ bodies: [@Sendable (SQLiteConnection) throws -> Void]
    ) async throws -> [Result<Void, any Error>] {
        let gate = Gate()
        let entered = StopSignal()
        async let held: Void = database.write { _ in
            entered.trigger()
            gate.waitUntilOpen()
        }
        await entered.wait()
        let results = await withTaskGroup(of: (Int, Result<Void, any Error>).self) { group in
            let queued = StopSignal()
            for (index, body) in bodies.enumerated() {
                group.addTask {
                    if index == bodies.count - 1 { queued.trigger() }
                    do {
                        try await database.write(body)
                        return (index, .success(()))
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            await queued.wait()
            gate.open()
            var results: [Int: Result<Void, any Error>] = [:]
            for await (index, result) in group { results[index] = result }
            return bodies.indices.compactMap { results[$0] }
        }
        try await held
        return results
    }

    @Test func aFailingClosureLosesOnlyItsOwnChanges() async throws {
        try await TemporaryStore.with { _, database in
            let insert: @Sendable (String) -> @Sendable (SQLiteConnection) throws -> Void = {
                name in
                { try $0.execute("INSERT INTO item (name) VALUES ($1)", [.text(name)]) }
            }
            let results = try await asOneBatch(
                database,
                [
                    insert("first"),
                    {
                        try $0.execute("INSERT INTO item (name) VALUES ('lost')")
                        throw Refused()
                    },
                    insert("first"),
                    insert("last"),
                ]
            )
            let failed = results.filter { if case .failure = $0 { true } else { false } }
            #expect(failed.count == 2)
            #expect(throws: Refused.self) { try results[1].get() }
            #expect(Set(try await database.names()) == ["first", "last"])
        }
    }

    @Test func aClosureThatEndsTheTransactionIsRefusedAndTheOthersRunAgain() async throws {
        try await TemporaryStore.with { _, database in
            let results = try await asOneBatch(
                database,
                [
                    { try $0.execute("INSERT INTO item (name) VALUES ('before')") },
                    { try $0.execute("ROLLBACK") },
                    { try $0.execute("INSERT INTO item (name) VALUES ('after')") },
                ]
            )
            #expect(throws: StorageError.self) { try results[1].get() }
            #expect(Set(try await database.names()) == ["before", "after"])
        }
    }

    @Test func theQueueIsBounded() async throws {
        var options = SQLiteOptions()
        options.queueLimit = 1
        try await TemporaryStore.with(options: options) { _, database in
            let gate = Gate()
            let entered = StopSignal()
            async let held: Void = database.write { _ in
                entered.trigger()
                gate.waitUntilOpen()
            }
            await entered.wait()
            #expect(await kind { try await database.insert("one too many") } == .overloaded)
            gate.open()
            try await held
            try await database.insert("fits")
            #expect(try await database.names() == ["fits"])
        }
    }

    @Test func batchesAreCutByRows() async throws {
        var options = SQLiteOptions()
        options.batchRows = 10
        try await TemporaryStore.with(options: options) { _, database in
            try await withThrowingTaskGroup { group in
                for number in 0..<20 {
                    group.addTask { try await database.insert("n\(number)", rows: 10) }
                }
                try await group.waitForAll()
            }
            #expect(try await database.statistics.commits == 20)
        }
    }

    @Test func aReadCannotWrite() async throws {
        try await TemporaryStore.with { _, database in
            let refused = await kind {
                _ = try await database.read { try $0.execute("DELETE FROM item") }
            }
            #expect(refused == .misuse)
            try await database.insert("still works")
        }
    }

    @Test func afterCloseEverythingIsRefused() async throws {
        let store = TemporaryStore()
        defer { store.remove() }
        let database = try await store.open()
        async let last: Void = database.insert("let in before")
        _ = try? await last
        await database.close()
        await database.close()
        #expect(await kind { try await database.insert("late") } == .closed)
        #expect(await kind { _ = try await database.names() } == .closed)
    }
}
