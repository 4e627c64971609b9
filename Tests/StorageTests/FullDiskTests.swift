import Testing

@testable import Storage

@Suite struct FullDiskTests {
    @Test func aFullStoreRefusesLosesNothingAndRecovers() async throws {
        var options = SQLiteOptions()
        options.maximumPages = 64
        try await TemporaryStore.with(options: options) { _, database in
            let body = [UInt8](repeating: 7, count: 3000)
            var accepted: [String] = []
            var refusal: StorageError?
            while refusal == nil {
                let name = "n\(accepted.count)"
                do {
                    try await database.insert(name, body: body)
                    accepted.append(name)
                } catch let error as StorageError {
                    refusal = error
                }
            }
            #expect(refusal?.kind == .full)
            #expect(refusal?.isRetriable == true)
            #expect(try await database.names() == accepted)

            try await database.write {
                try $0.execute("DELETE FROM item WHERE name <> 'n0'")
            }
            try await database.insert("again", body: body)
            #expect(try await database.names() == ["n0", "again"])
        }
    }

    @Test func writesThatFitSucceedBesideOnesThatDoNot() async throws {
        var options = SQLiteOptions()
        options.maximumPages = 64
        try await TemporaryStore.with(options: options) { _, database in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<40 {
                    let tooLarge = number.isMultiple(of: 2)
                    let body = [UInt8](repeating: 7, count: tooLarge ? 400_000 : 100)
                    group.addTask {
                        let refused = await kind {
                            try await database.insert("n\(number)", body: body)
                        }
                        #expect(refused == (tooLarge ? .full : nil))
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await database.names().count == 20)
        }
    }

    @Test func theWALNeverTakesTheRoomThatEmptyingItNeeds() async throws {
        var options = SQLiteOptions()
        options.checkpointInterval = .seconds(3600)
        let disk = 1 << 20
        options.measureRoom = { path in
            let file = size(path) ?? 0
            let wal = size(path + "-wal") ?? 0
            return StoreRoom(freeBytes: max(0, disk - file - wal), walBytes: wal)
        }
        try await TemporaryStore.with(options: options) { store, database in
            // The same few pages again and again: the WAL grows and the file does not.
            for number in 0..<400 {
                try await database.insert("n\(number)")
                #expect(size(store.path + "-wal") ?? 0 < disk / 2)
            }
            #expect(try await database.statistics.checkpoints > 2)
        }
    }

    @Test func afterAFullDiskTheWALIsEmptiedFirst() async throws {
        var options = SQLiteOptions()
        options.checkpointInterval = .seconds(3600)
        options.maximumPages = 64
        try await TemporaryStore.with(options: options) { store, database in
            for number in 0..<20 { try await database.insert("n\(number)") }
            let body = [UInt8](repeating: 7, count: 400_000)
            #expect(await kind { try await database.insert("large", body: body) } == .full)
            let before = size(store.path + "-wal") ?? 0
            try await database.insert("after")
            #expect(size(store.path + "-wal") ?? 0 < before)
            #expect(try await database.names().last == "after")
        }
    }

    @Test(arguments: [
        (free: 1 << 40, wal: 16 << 20, isShort: false),
        (free: 30 << 20, wal: 16 << 20, isShort: true),
        (free: 0, wal: 64 << 10, isShort: true), (free: 0, wal: 0, isShort: false),
    ])
    func roomIsShortWhenTheFileCouldNotTakeTheWAL(free: Int, wal: Int, isShort: Bool) {
        #expect(StoreRoom(freeBytes: free, walBytes: wal).isShort == isShort)
    }
}
