import Storage
import Testing

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
}
