import Storage
import Testing

@Suite struct MigrationTests {
    private let second = Migration(
        number: 2,
        name: "test-2",
        statements: [
            "ALTER TABLE item ADD COLUMN note TEXT", "CREATE INDEX item_note ON item (note)",
        ]
    )

    @Test func missingOnesRunOnce() async throws {
        let store = TemporaryStore()
        defer { store.remove() }
        let old = try await store.open()
        try await old.insert("kept")
        await old.close()
        for _ in 0..<2 {
            let new = try await store.open(TemporaryStore.migrations + [second])
            #expect(try await new.names() == ["kept"])
            #expect(
                try await new.read { try $0.query("SELECT note FROM item") { $0.isNull(0) } } == [
                    true
                ]
            )
            await new.close()
        }
    }

    @Test func aNewerFileIsRefused() async throws {
        let store = TemporaryStore()
        defer { store.remove() }
        await (try store.open(TemporaryStore.migrations + [second])).close()
        #expect(await kind { _ = try await store.open() } == .newerSchema)
    }

    @Test func anotherStoresFileIsRefused() async throws {
        let store = TemporaryStore()
        defer { store.remove() }
        await (try store.open()).close()
        let foreign = [Migration(number: 1, name: "other-1", statements: [])]
        #expect(await kind { _ = try await store.open(foreign) } == .foreignSchema)
    }

    @Test func aFailingOneLeavesNothingBehind() async throws {
        let store = TemporaryStore()
        defer { store.remove() }
        await (try store.open()).close()
        let broken = Migration(
            number: 2,
            name: "test-2",
            statements: ["CREATE TABLE half (id INTEGER)", "CREATE NONSENSE"]
        )
        #expect(
            await kind { _ = try await store.open(TemporaryStore.migrations + [broken]) } == .misuse
        )
        let database = try await store.open(TemporaryStore.migrations + [second])
        let tables = try await database.read {
            try $0.query("SELECT name FROM sqlite_schema WHERE name = 'half'") { $0.text(0) }
        }
        #expect(tables.isEmpty)
        await database.close()
    }

    @Test func numbersHaveNoGaps() async throws {
        let store = TemporaryStore()
        defer { store.remove() }
        #expect(await kind { _ = try await store.open([second]) } == .misuse)
    }
}
