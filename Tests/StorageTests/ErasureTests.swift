import Storage
import Testing

@Suite struct ErasureTests {
    @Test func erasedBytesLeaveFileAndWAL() async throws {
        try await TemporaryStore.with { store, database in
            let mark = Array("unmistakable-mark-7f3a".utf8)
            let body = Array(repeatElement(mark, count: 400).joined())
            for number in 0..<50 { try await database.insert("n\(number)", body: body) }
            #expect(try await database.checkpoint())
            #expect(holds(mark, store.path))
            try await database.write { try $0.execute("UPDATE item SET body = NULL") }
            #expect((size(store.path + "-wal") ?? 0) > 0)
            #expect(try await database.checkpoint())
            #expect(size(store.path + "-wal") == 0)
            #expect(!holds(mark, store.path))
            #expect(!holds(mark, store.path + "-wal"))
        }
    }

    @Test func theWALIsEmptiedByItself() async throws {
        var options = SQLiteOptions()
        options.checkpointInterval = .milliseconds(1)
        try await TemporaryStore.with(options: options) { _, database in
            try await database.insert("one")
            while try await database.statistics.checkpoints == 0 { await Task.yield() }
        }
    }

    private func holds(_ mark: [UInt8], _ path: String) -> Bool {
        guard let bytes = contents(path) else { return false }
        return String(decoding: bytes, as: Unicode.ASCII.self)
            .contains(String(decoding: mark, as: Unicode.ASCII.self))
    }
}
