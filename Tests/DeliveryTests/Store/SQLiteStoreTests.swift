import Contracts
import DeliveryCore
import DeliveryService
import FoundationEssentials
import Storage
import TestKit
import Testing

/// What only the SQLite store promises.
@Suite struct SQLiteStoreTests {
    @Test func rowsSurviveAReopen() async throws {
        let folder = try TemporaryDirectory()
        let time = ManualTime()
        let path = folder.file("outbox.db")
        let first = try await SQLiteDeliveryStore.open(path: path, time: time)
        _ = try await first.enqueue(Samples.batch(1, 0..<3), leasing: 1, lease: .seconds(60))
        await first.close()
        let second = try await SQLiteDeliveryStore.open(path: path, time: time)
        #expect(try await second.recover() == 1)
        let rows = try await second.claim(limit: 9, lease: .seconds(60)).rows
        #expect(rows.count == 3)
        #expect(rows.allSatisfy { $0.envelope != nil })
        await second.close()
    }

    @Test func ciphertextOfEndedRowsLeavesTheFiles() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.file("outbox.db")
        let store = try await SQLiteDeliveryStore.open(path: path, time: ManualTime())
        let rows = try await store.enqueue(
            Samples.batch(1, 0..<200),
            leasing: 200,
            lease: .seconds(60)
        ).leased
        #expect(try await store.checkpoint())
        #expect(holdsMark(path))
        _ = try await store.settle(rows.map { RowOutcome($0, .accepted) })
        #expect(try await store.checkpoint())
        #expect(!holdsMark(path))
        #expect(!holdsMark(path + "-wal"))
        await store.close()
    }

    @Test func aBackupIsAnOutboxOfItsOwn() async throws {
        let folder = try TemporaryDirectory()
        let time = ManualTime()
        let store = try await SQLiteDeliveryStore.open(path: folder.file("outbox.db"), time: time)
        _ = try await store.enqueue(Samples.batch(1, 0..<3), leasing: 1, lease: .seconds(60))
        let size = try await store.backup(to: folder.file("copy.db"))
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file("copy.db"))
        #expect(attributes[.size] as? UInt64 == UInt64(size))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let error = await #expect(throws: StorageError.self) {
            try await store.backup(to: folder.file("copy.db"))
        }
        #expect(error?.message.contains("exists already") == true)
        _ = try await store.enqueue(Samples.batch(2, 0..<1), leasing: 0, lease: .seconds(60))
        let copy = try await SQLiteDeliveryStore.open(path: folder.file("copy.db"), time: time)
        #expect(try await copy.recover() == 1)
        #expect(try await copy.claim(limit: 9, lease: .seconds(60)).rows.count == 3)
        await copy.close()
        await store.close()
    }

    private func holdsMark(_ path: String) -> Bool {
        guard let data = FileManager.default.contents(atPath: path) else { return false }
        return String(decoding: data, as: Unicode.ASCII.self)
            .contains(String(decoding: Samples.mark, as: Unicode.ASCII.self))
    }
}
