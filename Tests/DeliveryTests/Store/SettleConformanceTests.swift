import Contracts
import DeliveryCore
import DeliveryService
import TestKit
import Testing

@Suite struct SettleConformanceTests {
    private let lease = Duration.seconds(60)

    @Test(arguments: StoreFactory.all)
    func statesAndCountersFollowOutcomes(_ factory: StoreFactory) async throws {
        try await factory.with { store, _ in
            let rows = try await store.enqueue(Samples.batch(1, 0..<5), leasing: 5, lease: lease)
                .leased
            let results = try await store.settle([
                RowOutcome(rows[0], .accepted),
                RowOutcome(rows[1], .permanent(reason: "Unregistered", isAttempt: true)),
                RowOutcome(rows[2], .retry(reason: "x", delayMilliseconds: 500, isAttempt: true)),
                RowOutcome(rows[3], .expired),
            ])
            #expect(
                results == [.ended(.accepted), .ended(.permanent), .waiting, .ended(.expired)]
            )
            var counts: [ReceiptState: Int64] = [:]
            for state in ReceiptState.allCases { counts[state] = try await store.count(state) }
            #expect(counts.values.allSatisfy { $0 == 1 })
            let retryable = try await store.allReceipts(ReceiptQuery(state: .retryable))
            #expect(retryable.map(\.attempts) == [1])
            #expect(
                retryable.first?.nextAttemptAt == UnixMilliseconds(Samples.start * 1000 + 500)
            )
            #expect(try await store.allReceipts(ReceiptQuery()).count == 5)
        }
    }

    @Test(arguments: StoreFactory.all)
    func lateOutcomesAreIgnoredExceptAcceptance(_ factory: StoreFactory) async throws {
        try await factory.with { store, time in
            let old = try await store.enqueue(Samples.batch(1, 0..<2), leasing: 2, lease: lease)
                .leased
            time.advance(by: lease)
            let new = try await store.claim(limit: 9, lease: lease).rows
            #expect(new.count == 2)
            let results = try await store.settle([
                RowOutcome(old[0], .permanent(reason: "x", isAttempt: true)),
                RowOutcome(old[1], .accepted),
                RowOutcome(new[1], .permanent(reason: "x", isAttempt: true)),
                RowOutcome(new[0], .accepted),
                RowOutcome(new[0], .accepted),
            ])
            #expect(
                results == [
                    .ignored(.lapsed), .ended(.accepted), .ignored(.ended), .ended(.accepted),
                    .ignored(.ended),
                ]
            )
        }
    }

    @Test(arguments: StoreFactory.all)
    func neighboursEndEachInItsOwnWay(_ factory: StoreFactory) async throws {
        try await factory.with { store, time in
            let rows = try await store.enqueue(Samples.batch(1, 0..<9), leasing: 9, lease: lease)
                .leased
            func permanent(_ reason: String) -> RowChange {
                .permanent(reason: reason, isAttempt: true)
            }
            // Backwards, and nothing is known of the row in the middle, whose neighbours end alike.
            _ = try await store.settle([
                RowOutcome(rows[8], .accepted), RowOutcome(rows[7], .accepted),
                RowOutcome(rows[6], .retry(reason: "c", delayMilliseconds: 1, isAttempt: false)),
                RowOutcome(rows[5], permanent("b")), RowOutcome(rows[3], permanent("b")),
                RowOutcome(rows[2], permanent("a")), RowOutcome(rows[1], .accepted),
                RowOutcome(rows[0], .expired),
            ])
            let receipts = try await store.allReceipts(ReceiptQuery())
            #expect(
                receipts.map(\.state) == [
                    .expired, .accepted, .permanent, .permanent, .pending, .permanent, .pending,
                    .accepted, .accepted,
                ]
            )
            #expect(
                receipts.map(\.reason) == [
                    Reason.expired, nil, "a", "b", nil, "b", "c", nil, nil,
                ]
            )
            #expect(receipts.map(\.attempts) == [0, 1, 1, 1, 0, 1, 0, 1, 1])
            time.advance(by: lease)
            let left = try await store.claim(limit: 9, lease: lease).rows
            #expect(Set(left.map(\.lease.rowID)) == [rows[4].lease.rowID, rows[6].lease.rowID])
            #expect(left.allSatisfy { $0.envelope != nil })
        }
    }

    @Test(arguments: StoreFactory.all)
    func unknownRowsAreIgnored(_ factory: StoreFactory) async throws {
        try await factory.with { store, _ in
            let outcome = RowOutcome(rowID: 77, generation: 1, change: .accepted)
            let results = try await store.settle([outcome])
            #expect(results == [.ignored(.unknownRow)])
        }
    }

    @Test(arguments: StoreFactory.all)
    func expiryClosesWaitingRowsAndNoneUnderALiveLease(_ factory: StoreFactory) async throws {
        try await factory.with { store, time in
            let rows = try await store.enqueue(Samples.batch(1, 0..<3), leasing: 2, lease: lease)
                .leased
            _ = try await store.settle([
                RowOutcome(
                    rows[0],
                    .retry(reason: "x", delayMilliseconds: .max, isAttempt: true)
                )
            ])
            time.advance(by: .seconds(1790))
            #expect(try await store.expire(limit: 9) == 0)
            let held = try await store.claim(limit: 9, lease: lease).rows
            #expect(held.count == 2)
            time.advance(by: .seconds(10))
            #expect(try await store.expire(limit: 9) == 1)
            time.advance(by: .seconds(50))
            #expect(try await store.expire(limit: 9) == 2)
            #expect(try await store.expire(limit: 9) == 0)
            #expect(try await store.count(.expired) == 3)
            let late = try await store.settle([RowOutcome(held[0], .accepted)])
            #expect(late == [.ignored(.ended)])
        }
    }

    @Test(arguments: StoreFactory.all)
    func expiryReachesRowsUnderSuspicion(_ factory: StoreFactory) async throws {
        try await factory.with { store, time in
            _ = try await store.enqueue(Samples.batch(1, 0..<1), leasing: 0, lease: lease)
            for _ in 0..<2 {
                _ = try await store.claim(limit: 9, lease: lease)
                time.advance(by: lease)
            }
            time.advance(by: .seconds(1800))
            #expect(try await store.expire(limit: 9) == 1)
        }
    }

    @Test(arguments: StoreFactory.all)
    func cleanupsStayUntilAcknowledged(_ factory: StoreFactory) async throws {
        try await factory.with { store, _ in
            let rows = try await store.enqueue(Samples.batch(1, 0..<2), leasing: 2, lease: lease)
                .leased
            let note = CleanupNote(
                tokenHash: Blob(Array(repeating: 5, count: 32)),
                kind: .dead,
                apnsTimestamp: UnixMilliseconds(123),
                confirmedAt: UnixMilliseconds(99)
            )
            let dead = RowChange.permanent(reason: "Unregistered", isAttempt: true)
            _ = try await store.settle([RowOutcome(rows[0], dead, cleanup: note)])
            let waiting = try await store.cleanups(limit: 9)
            #expect(
                waiting.map(\.item) == [
                    .init(
                        installationID: Samples.installation(0),
                        binding: 3,
                        tokenHash: note.tokenHash,
                        kind: .dead,
                        apnsTimestamp: UnixMilliseconds(123),
                        confirmedAt: UnixMilliseconds(99)
                    )
                ]
            )
            #expect(try await store.status().cleanupsWaiting == 1)
            try await store.acknowledge(cleanups: waiting.map(\.rowID))
            #expect(try await store.cleanups(limit: 9).isEmpty)
        }
    }

    @Test(arguments: StoreFactory.all)
    func receiptsArePurgedOnlyAfterRetention(_ factory: StoreFactory) async throws {
        try await factory.with { store, time in
            let rows = try await store.enqueue(Samples.batch(1, 0..<5), leasing: 5, lease: lease)
                .leased
            _ = try await store.settle(rows.map { RowOutcome($0, .accepted) })
            time.advance(by: .seconds(1800 + 86_400 - 1))
            #expect(try await store.purge(retention: .seconds(86_400), limit: 3) == 0)
            time.advance(by: .seconds(1))
            #expect(try await store.purge(retention: .seconds(86_400), limit: 3) == 3)
            #expect(try await store.purge(retention: .seconds(86_400), limit: 3) == 2)
            #expect(try await store.purge(retention: .seconds(86_400), limit: 3) == 0)
            #expect(try await store.count(.accepted) == 0)
        }
    }

    @Test(arguments: StoreFactory.all)
    func receiptsAreFoundByEventInstallationAndState(_ factory: StoreFactory) async throws {
        try await factory.with { store, _ in
            for event in 1...3 {
                let rows = try await store.enqueue(
                    Samples.batch(event, 0..<10),
                    leasing: 4,
                    lease: lease
                ).leased
                _ = try await store.settle(rows.map { RowOutcome($0, .accepted) })
            }
            #expect(
                try await store.allReceipts(ReceiptQuery(eventID: Samples.event(2), limit: 3)).count
                    == 10
            )
            let phone = Samples.installation(0)
            #expect(try await store.allReceipts(ReceiptQuery(installationID: phone)).count == 3)
            #expect(
                try await store.allReceipts(ReceiptQuery(state: .accepted, limit: 5)).count == 12
            )
            let one = try await store.receipts(
                ReceiptQuery(eventID: Samples.event(3), installationID: Samples.installation(9))
            )
            #expect(one.receipts.map(\.state) == [.pending])
            #expect(one.next == nil)
            #expect(try await store.allReceipts(ReceiptQuery(eventID: Samples.event(9))).isEmpty)
        }
    }
}
