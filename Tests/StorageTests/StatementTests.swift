import Storage
import Testing

@Suite struct StatementTests {
    @Test func placeholdersMayComeInAnyOrderAndRepeat() async throws {
        try await TemporaryStore.with { _, database in
            let row = try await database.read {
                try $0.first("SELECT $2, $1, $2", [.text("one"), .int(2)]) {
                    [$0[0], $0[1], $0[2]]
                }
            }
            #expect(row == [2, "one", 2])
        }
    }

    @Test(arguments: [
        SQLValue.null, .int(Int64.min), .int(Int64.max), .text(""), .text("文字 é 😀"), .blob([]),
        .blob([0, 1, 255]),
    ])
    func valuesComeBack(_ value: SQLValue) async throws {
        try await TemporaryStore.with { _, database in
            let back = try await database.read { try $0.first("SELECT $1", [value]) { $0[0] } }
            #expect(back == value)
        }
    }

    @Test func theCountOfValuesIsChecked() async throws {
        try await TemporaryStore.with { _, database in
            let refused = await kind {
                _ = try await database.read { try $0.first("SELECT $1", []) { $0[0] } }
            }
            #expect(refused == .misuse)
        }
    }

    @Test func errorsQuoteNoArgument() async throws {
        try await TemporaryStore.with { _, database in
            try await database.insert("secret-name")
            let error = await #expect(throws: StorageError.self) {
                try await database.insert("secret-name")
            }
            #expect(error?.kind == .constraint)
            #expect(error?.description.contains("secret") == false)
        }
    }

    @Test func aStatementIsReusableAfterAnError() async throws {
        try await TemporaryStore.with { _, database in
            try await database.write { connection in
                let insert = try connection.prepare("INSERT INTO item (name) VALUES ($1)")
                #expect(try insert.run(["a"]) == 1)
                #expect(throws: StorageError.self) { try insert.run(["a"]) }
                #expect(try insert.run(["b"]) == 1)
            }
            #expect(try await database.names() == ["a", "b"])
        }
    }
}
