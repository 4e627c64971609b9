import Contracts
import DeliveryCore
import DeliveryService
import TestKit
import Testing

@Suite struct AdministrationConformanceTests {
    private let lease = Duration.seconds(60)

    /// Event 1 with one row of each kind: 0 waits, 1 is held, 2 has ended, 3 is due; event 2 waits.
    private func prepare(_ store: any DeliveryStore) async throws -> [ClaimedRow] {
        let rows = try await store.enqueue(Samples.batch(1, 0..<3), leasing: 3, lease: lease).leased
        let other = try await store.enqueue(Samples.batch(2, 0..<1), leasing: 1, lease: lease)
            .leased
        let wait = RowChange.retry(reason: "x", delayMilliseconds: 240_000, isAttempt: true)
        _ = try await store.settle([
            RowOutcome(rows[0], wait), RowOutcome(rows[2], .accepted), RowOutcome(other[0], wait),
        ])
        _ = try await store.enqueue(Samples.batch(1, 3..<4), leasing: 0, lease: lease)
        return rows
    }

    @Test(arguments: StoreFactory.all)
    func aRetryAdvancesWaitingRowsAndRevivesNothing(_ factory: StoreFactory) async throws {
        try await factory.with { store, _ in
            let rows = try await prepare(store)
            let first = try await store.claim(limit: 9, lease: lease).rows
            #expect(first.map(\.installationID) == [Samples.installation(3)])
            let changed = try await store.advance(
                OutboxSelection(eventID: Samples.event(1)),
                after: nil
            )
            #expect(changed == RowsChanged(changed: 1, held: 2, next: nil))
            let again = try await store.claim(limit: 9, lease: lease)
            #expect(again.rows.map(\.installationID) == [Samples.installation(0)])
            #expect(again.rows.map(\.eventID) == [Samples.event(1)])
            #expect(try await store.count(.accepted) == 1)
            // The one that was held all the time keeps its generation.
            #expect(try await store.settle([RowOutcome(rows[1], .expired)]) == [.ended(.expired)])
        }
    }

    @Test(arguments: StoreFactory.all)
    func aRetryOfAPhoneLeavesOtherPhonesWaiting(_ factory: StoreFactory) async throws {
        try await factory.with { store, _ in
            _ = try await prepare(store)
            _ = try await store.claim(limit: 9, lease: lease)
            let none = try await store.advance(
                OutboxSelection(installationID: Samples.installation(9)),
                after: nil
            )
            #expect(none.changed == 0)
            let both = try await store.advance(
                OutboxSelection(installationID: Samples.installation(0)),
                after: nil
            )
            #expect(both.changed == 2)
            #expect(try await store.claim(limit: 9, lease: lease).rows.count == 2)
        }
    }

    @Test(arguments: StoreFactory.all)
    func aCancelEndsWhatNobodyHolds(_ factory: StoreFactory) async throws {
        try await factory.with { store, time in
            let rows = try await prepare(store)
            let selection = OutboxSelection(eventID: Samples.event(1))
            let changed = try await store.cancel(selection, after: nil)
            #expect(changed == RowsChanged(changed: 2, held: 1, next: nil))
            let receipts = try await store.allReceipts(
                ReceiptQuery(eventID: Samples.event(1), state: .permanent)
            )
            #expect(receipts.map(\.installationID) == [0, 3].map(Samples.installation))
            #expect(receipts.map(\.reason) == [Reason.cancelled, Reason.cancelled])
            #expect(receipts.map(\.attempts) == [1, 0])
            #expect(try await store.count(.retryable) == 1)
            #expect(try await store.settle([RowOutcome(rows[1], .accepted)]) == [.ended(.accepted)])

            // A lease that lapsed holds nothing any more.
            let crashed = try await store.enqueue(
                Samples.batch(3, 0..<1),
                leasing: 1,
                lease: lease
            ).leased
            time.advance(by: lease)
            let all = try await store.cancel(OutboxSelection(), after: nil)
            #expect(all.changed == 2)
            #expect(
                try await store.settle([RowOutcome(crashed[0], .accepted)]) == [.ignored(.ended)]
            )
            time.advance(by: .seconds(600))
            #expect(try await store.claim(limit: 9, lease: lease).rows.isEmpty)
            let open = try await store.status().states.filter { !$0.state.isTerminal }
            #expect(open.map(\.rows) == [0, 0])
        }
    }

    @Test(arguments: StoreFactory.all)
    func aLargeChangeGoesPageByPage(_ factory: StoreFactory) async throws {
        try await factory.with { store, _ in
            for batch in 0..<24 {
                _ = try await store.enqueue(
                    Samples.batch(1, batch * 500..<(batch + 1) * 500),
                    leasing: 0,
                    lease: lease
                )
            }
            var pages: [Int] = []
            var after: Int64?
            repeat {
                let page = try await store.cancel(OutboxSelection(), after: after)
                pages.append(page.changed)
                after = page.next
            } while after != nil && pages.count < 100
            #expect(pages.count > 1)
            #expect(pages.reduce(0, +) == 12_000)
            #expect(try await store.count(.permanent) == 12_000)
        }
    }

    @Test(arguments: StoreFactory.all)
    func cancelledRowsMakeRoom(_ factory: StoreFactory) async throws {
        try await factory.with(limits: OutboxLimits(openRows: 4)) { store, _ in
            _ = try await store.enqueue(Samples.batch(1, 0..<4), leasing: 0, lease: lease)
            _ = try await store.cancel(OutboxSelection(), after: nil)
            let later = try await store.enqueue(Samples.batch(2, 0..<4), leasing: 0, lease: lease)
            #expect(later.accepted == 4)
        }
    }
}
