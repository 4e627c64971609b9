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
        async let backup: Void = database.backup(to: copyPath)
        try await database.insert("during")
        try await backup
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
}
