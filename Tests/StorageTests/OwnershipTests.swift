import Glibc
import Storage
import Testing

@Suite struct OwnershipTests {
    @Test func pragmasAreAsPromised() async throws {
        try await TemporaryStore.with { _, database in
            let expected: [String: SQLValue] = [
                "journal_mode": "wal", "synchronous": 2, "locking_mode": "exclusive",
                "secure_delete": 1, "foreign_keys": 1, "mmap_size": 0, "trusted_schema": 0,
            ]
            for (name, value) in expected {
                let actual = try await database.pragma(name)
                #expect(actual == value, "\(name)")
            }
        }
    }

    @Test func noSharedMemoryFileExists() async throws {
        try await TemporaryStore.with { store, database in
            try await database.insert("one")
            #expect(size(store.path + "-shm") == nil)
        }
    }

    @Test func filesAreForTheirOwnerOnly() async throws {
        try await TemporaryStore.with { store, database in
            try await database.insert("one")
            for suffix in ["", "-wal", "-lock"] {
                var status = stat()
                #expect(stat(store.path + suffix, &status) == 0)
                #expect(status.st_mode & 0o777 == 0o600)
            }
        }
    }

    @Test func aSecondOwnerIsRefused() async throws {
        try await TemporaryStore.with { store, _ in
            #expect(await kind { _ = try await store.open() } == .alreadyRunning)
        }
    }

    @Test func theCheckRunsOnlyAfterAnUncleanStop() async throws {
        let store = TemporaryStore()
        defer { store.remove() }
        let first = try await store.open()
        try await first.insert("one")
        await first.close()
        let second = try await store.open()
        #expect(try await second.statistics.checkedAtOpen == false)
        await second.close()
        write(Array("o".utf8), to: store.path + "-lock")
        let third = try await store.open()
        #expect(try await third.statistics.checkedAtOpen)
        #expect(try await third.names() == ["one"])
        await third.close()
    }

    @Test func aGarbageFileStopsTheStartAndStays() async throws {
        let store = TemporaryStore()
        defer { store.remove() }
        let garbage = (0..<8192).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) }
        write(garbage, to: store.path)
        let refused = await #expect(throws: StorageError.self) { _ = try await store.open() }
        #expect(refused?.kind == .corrupt)
        #expect(refused?.description.contains(store.path) == true)
        #expect(contents(store.path) == garbage)
    }

    @Test func aDamagedPageStopsTheStartAfterAnUncleanStop() async throws {
        let store = TemporaryStore()
        defer { store.remove() }
        let database = try await store.open()
        for number in 0..<200 {
            try await database.insert("n\(number)", body: [UInt8](repeating: 1, count: 200))
        }
        await database.close()
        var bytes = try #require(contents(store.path))
        for index in 8192..<12288 { bytes[index] = 0xA5 }
        write(bytes, to: store.path)
        write(Array("o".utf8), to: store.path + "-lock")
        #expect(await kind { _ = try await store.open() } == .corrupt)
        #expect(contents(store.path)?.count == bytes.count)
    }

    @Test func aMissingFolderIsSaid() async throws {
        let refused = await kind {
            _ = try await SQLiteDatabase.open(path: "/nonexistent/store.db", migrations: [])
        }
        #expect(refused == .cannotOpen)
    }

    @Test func aReadOnlyStoreRefusesWritesAndRecovers() async throws {
        try await TemporaryStore.with { _, database in
            try await database.read { _ = try $0.pragma("query_only = ON") }
            #expect(await kind { try await database.insert("one") } == .readOnly)
            #expect(try await database.names().isEmpty)
            try await database.read { _ = try $0.pragma("query_only = OFF") }
            try await database.insert("two")
            #expect(try await database.names() == ["two"])
        }
    }
}
