import Contracts
import DeliveryCore
import DeliveryService
import Storage
import TestKit
import Testing

@Suite struct OutboxMoveTests {
    private let lease = Duration.seconds(60)

    /// An outbox on SQLite with 1,500 rows of one event in all states, a claimed row and a clean-up.
    private func fill(_ path: String, _ time: ManualTime) async throws -> OutboxStatusAnswer {
        let store = try await SQLiteDeliveryStore.open(path: path, time: time)
        var rows: [ClaimedRow] = []
        for first in stride(from: 0, to: 1500, by: 500) {
            let batch = Samples.batch(1, first..<first + 500)
            rows += try await store.enqueue(batch, leasing: 2, lease: lease).leased
        }
        let note = CleanupNote(
            tokenHash: Blob(Array(repeating: 5, count: 32)),
            kind: .dead,
            apnsTimestamp: UnixMilliseconds(123),
            confirmedAt: UnixMilliseconds(99)
        )
        _ = try await store.settle([
            RowOutcome(rows[0], .accepted),
            RowOutcome(rows[1], .permanent(reason: "x", isAttempt: true), cleanup: note),
            RowOutcome(rows[2], .expired),
            RowOutcome(rows[3], .retry(reason: "y", delayMilliseconds: 9000, isAttempt: true)),
        ])
        _ = try await store.enqueue(Samples.batch(2, 0..<1), leasing: 0, lease: lease)
        let status = try await store.status()
        await store.close()
        return status
    }

    @Test func everythingArrivesAndTheFileIsEmpty() async throws {
        let folder = try TemporaryDirectory()
        let (path, time) = (folder.file("outbox.db"), ManualTime())
        let before = try await fill(path, time)
        let text = try PostgreSQLServer.shared.get().database()
        let arguments = ["--from", "sqlite:\(path)", "--to", text]
        let (code, shown) = await MigrateCommand.outcome(arguments, [:])
        #expect(code == 0)
        #expect(shown.contains("rows: 1501"))
        #expect(shown.contains("clean-ups: 1"))

        let url = try PostgreSQLURL(text)
        let store = try await PostgreSQLDeliveryStore.open(url, clock: time)
        let after = try await store.status()
        #expect(after == before)
        let waiting = try await store.cleanups(limit: 9)
        #expect(waiting.map(\.item.confirmedAt) == [UnixMilliseconds(99)])
        let rows = try await store.claim(limit: 2000, lease: lease).rows
        // All but the three that ended and the one that waits; those that were held are free.
        #expect(rows.count == 1497)
        #expect(rows.allSatisfy { $0.envelope != nil })
        #expect(rows.count { $0.claims == 1 } == 2)
        await store.close()

        let again = await MigrateCommand.outcome(arguments, [:])
        #expect(again.code == 0)
        #expect(again.text.contains("rows: 0"))
    }

    @Test func anInterruptedMoveIsBegunAgain() async throws {
        let folder = try TemporaryDirectory()
        let (path, time) = (folder.file("outbox.db"), ManualTime())
        _ = try await fill(path, time)
        let url = try PostgreSQLURL(PostgreSQLServer.shared.get().database())
        let store = try await PostgreSQLDeliveryStore.open(url, clock: time)
        // As if a first move had got this far, and a Delivery had worked on it since.
        let part = try await store.enqueue(Samples.batch(1, 0..<700), leasing: 700, lease: lease)
        _ = try await store.settle(part.leased.map { RowOutcome($0, .accepted) })
        await store.close()
        let summary = try await OutboxMove.run(from: path, to: url)
        #expect((summary.total, summary.known) == (1501, 700))
        let opened = try await PostgreSQLDeliveryStore.open(url, clock: time)
        #expect(try await opened.count(.accepted) == 700)
        await opened.close()
    }

    @Test func whatIsInUseIsRefused() async throws {
        let folder = try TemporaryDirectory()
        let (path, time) = (folder.file("outbox.db"), ManualTime())
        let source = try await SQLiteDeliveryStore.open(path: path, time: time)
        let url = try PostgreSQLURL(PostgreSQLServer.shared.get().database())
        let first = await #expect(throws: StorageError.self) {
            try await OutboxMove.run(from: path, to: url)
        }
        #expect(first?.kind == .alreadyRunning)
        await source.close()
        let target = try await PostgreSQLDeliveryStore.open(url, clock: time)
        let second = await #expect(throws: StorageError.self) {
            try await OutboxMove.run(from: path, to: url)
        }
        #expect(second?.kind == .alreadyRunning)
        await target.close()
        let third = await #expect(throws: StorageError.self) {
            try await OutboxMove.run(from: folder.file("none.db"), to: url)
        }
        #expect(third?.kind == .cannotOpen)
    }

    @Test(
        arguments: [
            [], ["--from"], ["--from", "sqlite:/x"], ["--from", "postgresql://h/x", "--to", "x"],
            ["--from", "sqlite:/x", "--to", "sqlite:/y"], ["--all"],
        ] as [[String]]
    )
    func badArgumentsAreExplained(_ arguments: [String]) async {
        let (code, text) = await MigrateCommand.outcome(arguments, [:])
        #expect(code == 64)
        #expect(text.contains("usage:"))
    }
}
