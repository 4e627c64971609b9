import Contracts
import DeliveryCore
import DeliveryService
import TestKit
import Testing

@Suite struct ClaimConformanceTests {
    private let lease = Duration.seconds(60)

    @Test(arguments: StoreFactory.all)
    func aRowIsClaimedOnceUntilItsLeaseLapses(_ factory: StoreFactory) async throws {
        try await factory.with { store, time in
            _ = try await store.enqueue(Samples.batch(1, 0..<3), leasing: 0, lease: lease)
            let first = try await store.claim(limit: 9, lease: lease)
            #expect(first.rows.map(\.lease.generation) == [1, 1, 1])
            let none = try await store.claim(limit: 9, lease: lease)
            #expect(none.rows.isEmpty)
            #expect(none.nextDueMilliseconds == 60_000)
            time.advance(by: .seconds(60))
            let second = try await store.claim(limit: 9, lease: lease)
            #expect(second.rows.map(\.lease.generation) == [2, 2, 2])
            #expect(second.rows.map(\.claims) == [1, 1, 1])
        }
    }

    @Test(arguments: StoreFactory.all)
    func eventsTakeTurns(_ factory: StoreFactory) async throws {
        try await factory.with { store, time in
            _ = try await store.enqueue(Samples.batch(1, 0..<400), leasing: 0, lease: lease)
            time.advance(by: .seconds(1))
            _ = try await store.enqueue(Samples.batch(2, 0..<3), leasing: 0, lease: lease)
            let first = try await store.claim(limit: 100, lease: lease)
            let events = Dictionary(grouping: first.rows, by: \.eventID).mapValues(\.count)
            #expect(events == [Samples.event(1): 97, Samples.event(2): 3])
            #expect(first.hasMore)

            _ = try await store.enqueue(Samples.batch(3, 0..<100), leasing: 0, lease: lease)
            time.advance(by: .milliseconds(5))
            let second = try await store.claim(limit: 1, lease: lease)
            time.advance(by: .milliseconds(5))
            let third = try await store.claim(limit: 1, lease: lease)
            #expect(Set((second.rows + third.rows).map(\.eventID)).count == 2)
        }
    }

    @Test(arguments: StoreFactory.all)
    func everyDueRowIsClaimedWhateverTheNumberOfEvents(_ factory: StoreFactory) async throws {
        try await factory.with { store, time in
            for event in 0..<200 {
                _ = try await store.enqueue(Samples.batch(event, 0..<2), leasing: 0, lease: lease)
            }
            var claimed = 0
            while true {
                time.advance(by: .milliseconds(1))
                let result = try await store.claim(limit: 100, lease: lease)
                claimed += result.rows.count
                if result.rows.isEmpty { break }
            }
            #expect(claimed == 400)
        }
    }

    @Test(arguments: StoreFactory.all)
    func crashedClaimsAreClaimedAloneAndThenGivenUp(_ factory: StoreFactory) async throws {
        try await factory.with { store, time in
            _ = try await store.enqueue(Samples.batch(1, 0..<2), leasing: 0, lease: lease)
            for _ in 0..<2 {
                let rows = try await store.claim(limit: 9, lease: lease).rows
                #expect(rows.count == 2)
                time.advance(by: lease)
            }
            let result = try await store.claim(limit: 9, lease: lease)
            #expect(result.rows.isEmpty)
            #expect(result.hasLoneRow)
            var rules: [CrashRule] = []
            for _ in 0..<4 {
                let first = try #require(try await store.claimAlone(lease: lease))
                let second = try #require(try await store.claimAlone(lease: lease))
                #expect(first.lease.rowID != second.lease.rowID)
                #expect(try await store.claimAlone(lease: lease) == nil)
                rules.append(CrashRule(claims: first.claims))
                time.advance(by: lease)
            }
            #expect(rules == [.alone, .alone, .alone, .quarantine])
            let poison = try #require(try await store.claimAlone(lease: lease))
            let other = try #require(try await store.claimAlone(lease: lease))
            let results = try await store.settle([
                RowOutcome(poison, .permanent(reason: Reason.quarantined, isAttempt: false)),
                RowOutcome(other, .retry(reason: "x", delayMilliseconds: 0, isAttempt: false)),
            ])
            #expect(results == [.ended(.permanent), .waiting])
            #expect(try await store.claim(limit: 9, lease: lease).rows.map(\.claims) == [0])
        }
    }

    @Test(arguments: StoreFactory.all)
    func aReleaseIsNeitherAnAttemptNorACrash(_ factory: StoreFactory) async throws {
        try await factory.with { store, time in
            _ = try await store.enqueue(Samples.batch(1, 0..<1), leasing: 0, lease: lease)
            for _ in 0..<5 {
                let rows = try await store.claim(limit: 9, lease: lease).rows
                #expect(rows.map(\.claims) == [0])
                _ = try await store.settle(
                    rows.map {
                        RowOutcome(
                            $0,
                            .retry(
                                reason: Reason.eligibilityUnknown,
                                delayMilliseconds: 1000,
                                isAttempt: false
                            )
                        )
                    }
                )
                #expect(try await store.claim(limit: 9, lease: lease).rows.isEmpty)
                time.advance(by: .seconds(1))
            }
            let receipt = try await store.allReceipts(ReceiptQuery()).first
            #expect(receipt?.state == .pending)
            #expect(receipt?.attempts == 0)
            #expect(receipt?.reason == Reason.eligibilityUnknown)
        }
    }

    @Test(arguments: StoreFactory.all)
    func anOwnerFreesWhatItsFormerRunHeld(_ factory: StoreFactory) async throws {
        try await factory.with { store, time in
            _ = try await store.enqueue(Samples.batch(1, 0..<3), leasing: 3, lease: lease)
            _ = try await store.enqueue(Samples.batch(2, 0..<1), leasing: 1, lease: lease)
            let waiting = try await store.enqueue(Samples.batch(3, 0..<1), leasing: 1, lease: lease)
            _ = try await store.settle(
                waiting.leased.map {
                    RowOutcome($0, .retry(reason: "x", delayMilliseconds: 9000, isAttempt: true))
                }
            )
            time.advance(by: .seconds(1))
            #expect(try await store.recover() == (factory.hasOneOwner ? 4 : 0))
            if !factory.hasOneOwner {
                // Leases of other processes are left alone; they lapse by themselves.
                #expect(try await store.claim(limit: 9, lease: lease).rows.isEmpty)
                time.advance(by: lease)
                #expect(try await store.claim(limit: 9, lease: lease).rows.count == 5)
                return
            }
            let rows = try await store.claim(limit: 9, lease: lease).rows
            #expect(rows.count == 4)
            #expect(rows.allSatisfy { $0.claims == 1 && $0.lease.generation == 2 })
        }
    }

    @Test(arguments: StoreFactory.all)
    func aClockSetBackMakesNoEternalLease(_ factory: StoreFactory) async throws {
        try await factory.with { store, time in
            let batch = Samples.batch(1, 0..<1)
            _ = try await store.enqueue(batch, leasing: 1, lease: lease)
            time.jumpWall(to: UnixMilliseconds((Samples.start - 3600) * 1000))
            _ = try await store.expire(limit: 9)
            #expect(try await store.claim(limit: 9, lease: lease).rows.count == 1)
        }
    }
}
