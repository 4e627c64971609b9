import Contracts
import DeliveryCore
import DeliveryService
import Storage
import TestKit
import Testing

@Suite struct EnqueueConformanceTests {
    private let lease = Duration.seconds(60)

    @Test(arguments: StoreFactory.all)
    func aRepeatIsADuplicateAndChangesNothing(_ factory: StoreFactory) async throws {
        try await factory.with { store, _ in
            let first = try await store.enqueue(Samples.batch(1, 0..<5), leasing: 0, lease: lease)
            #expect((first.accepted, first.duplicate) == (5, 0))
            let again = try await store.enqueue(Samples.batch(1, 3..<8), leasing: 9, lease: lease)
            #expect((again.accepted, again.duplicate) == (3, 2))
            #expect(again.leased.map(\.installationID) == (5..<8).map(Samples.installation))
            let count = try await store.count(.pending)
            #expect(count == 8)
        }
    }

    @Test(arguments: StoreFactory.all)
    func concurrentRepeatsMakeOneRowEach(_ factory: StoreFactory) async throws {
        try await factory.with { store, _ in
            let accepted = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        try await store.enqueue(Samples.batch(1, 0..<3), leasing: 0, lease: .zero)
                            .accepted
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(accepted == 3)
        }
    }

    @Test(arguments: StoreFactory.all)
    func rowsAreInsertedLeasedWhileThereIsRoom(_ factory: StoreFactory) async throws {
        try await factory.with { store, _ in
            let result = try await store.enqueue(Samples.batch(1, 0..<5), leasing: 2, lease: lease)
            #expect(result.leased.count == 2)
            #expect(result.leased.first?.envelope == Samples.envelope(0))
            let claimed = try await store.claim(limit: 10, lease: lease)
            #expect(claimed.rows.map(\.installationID) == (2..<5).map(Samples.installation))
            #expect(claimed.rows.last?.envelope == Samples.envelope(4))
            #expect(claimed.rows.last?.lifeMilliseconds == 1_800_000)
        }
    }

    @Test(arguments: StoreFactory.all)
    func noRowOutlivesHalfAnHourByTheStoresClock(_ factory: StoreFactory) async throws {
        try await factory.with { store, _ in
            for (number, ahead) in [Int64(3600), 1 << 40, 1 << 62].enumerated() {
                var batch = Samples.batch(number, 0..<1)
                batch.createdAt = UnixSeconds(ahead).adding(seconds: batch.createdAt.seconds)
                batch.expiresAt = UnixSeconds(.max)
                let result = try await store.enqueue(batch, leasing: 1, lease: lease)
                #expect(result.leased.first?.lifeMilliseconds == 1_800_000)
            }
        }
    }

    @Test(arguments: StoreFactory.all)
    func whatCouldNotBeSealedEndsAtOnce(_ factory: StoreFactory) async throws {
        try await factory.with { store, _ in
            var batch = Samples.batch(1, 0..<1)
            batch.records.append(
                .init(
                    installationID: Samples.installation(1),
                    binding: 1,
                    failure: "SealFailed"
                )
            )
            let result = try await store.enqueue(batch, leasing: 9, lease: lease)
            #expect(result.accepted == 2)
            #expect(result.leased.count == 1)
            let receipts = try await store.allReceipts(ReceiptQuery(state: .permanent))
            #expect(receipts.map(\.reason) == ["SealFailed"])
        }
    }

    @Test(arguments: StoreFactory.all)
    func nothingExtendsALife(_ factory: StoreFactory) async throws {
        try await factory.with { store, time in
            let long = Samples.batch(1, 0..<1, lifetime: 90_000)
            _ = try await store.enqueue(long, leasing: 0, lease: lease)
            var later = Samples.batch(1, 1..<2)
            later.createdAt = UnixSeconds(Samples.start + 1000)
            later.expiresAt = UnixSeconds(Samples.start + 2800)
            _ = try await store.enqueue(later, leasing: 0, lease: lease)
            time.advance(by: .seconds(1800))
            #expect(try await store.claim(limit: 9, lease: lease).rows.isEmpty)
            #expect(try await store.expire(limit: 9) == 2)
            _ = try await store.enqueue(Samples.batch(1, 2..<3), leasing: 9, lease: lease)
            #expect(try await store.count(.expired) == 3)
        }
    }

    @Test(arguments: StoreFactory.all)
    func aFullOutboxRefusesAndKeepsWhatItHas(_ factory: StoreFactory) async throws {
        try await factory.with(limits: OutboxLimits(openRows: 4)) { store, _ in
            let rows = try await store.enqueue(Samples.batch(1, 0..<4), leasing: 4, lease: lease)
            let error = await #expect(throws: StorageError.self) {
                try await store.enqueue(Samples.batch(2, 0..<1), leasing: 0, lease: .zero)
            }
            #expect(error?.kind == .full)
            _ = try await store.settle(rows.leased.map { RowOutcome($0, .accepted) })
            let later = try await store.enqueue(Samples.batch(2, 0..<1), leasing: 0, lease: lease)
            #expect(later.accepted == 1)
        }
    }
}
