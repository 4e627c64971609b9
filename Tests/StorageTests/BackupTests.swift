import Storage
import Testing

@Suite struct BackupTests {
    @Test func aBackupIsACompleteStoreThatGrewMeanwhile() async throws {
        let store = TemporaryStore()
        defer { store.remove() }
        let database = try await store.open()
        let body = [UInt8](repeating: 9, count: 4000)
        for number in 0..<1500 { try await database.insert("n\(number)", body: body) }
        let copyPath = store.folder + "/copy.db"
        async let backup = database.backup(to: copyPath)
        try await database.insert("during")
        #expect(try await backup > 6_000_000)
        let names = try await database.names()
        await database.close()

        let copy = try await SQLiteDatabase.open(
            path: copyPath,
            migrations: TemporaryStore.migrations
        )
        let copied = try await copy.names()
        #expect(copied == names || copied == names.dropLast())
        await copy.close()
    }

    @Test func anExistingFileIsNotOverwritten() async throws {
        try await TemporaryStore.with { store, database in
            let copyPath = store.folder + "/copy.db"
            write([1, 2, 3], to: copyPath)
            #expect(await kind { try await database.backup(to: copyPath) } == .cannotOpen)
            #expect(contents(copyPath) == [1, 2, 3])
        }
    }

    @Test func theCopyIsChangedBeforeItGetsItsName() async throws {
        try await TemporaryStore.with { store, database in
            try await database.insert("mine")
            let copyPath = store.folder + "/copy.db"
            try await database.backup(to: copyPath) { copy in
                try copy.execute("CREATE TABLE mark (value INTEGER)")
            }
            let copy = try await SQLiteDatabase.open(
                path: copyPath,
                migrations: TemporaryStore.migrations
            )
            let marks = try await copy.read { connection in
                try connection.first("SELECT COUNT(*) FROM mark") { $0.int(0) }
            }
            #expect(marks == 0)
            await copy.close()
            await #expect(throws: StorageError.self) {
                try await database.read { connection in
                    try connection.first("SELECT COUNT(*) FROM mark") { $0.int(0) }
                }
            }
            // What cannot be finished leaves nothing behind.
            let other = store.folder + "/other.db"
            await #expect(throws: StorageError.self) {
                try await database.backup(to: other) { try $0.execute("NO SUCH WORD") }
            }
            #expect(contents(other) == nil)
            #expect(contents(other + ".partial") == nil)
        }
    }
}
