import Contracts
import DeliveryCore
import TestKit
import Testing

/// Many rows that fail at the same moment do not come back at the same moment.
@Suite(.timeLimit(.minutes(2))) struct RetryHerdTests {
    @Test func theRetriesOfTenThousandFailuresAreSpreadEvenly() async throws {
        let relay = StubRelay(chunk: 64) { _ in
            .init(outcome: .retryable, reason: "NetworkUnavailable", exposure: .ambiguous)
        }
        try await withWorld(time: ManualTime(), relay: relay) { world in
            for batch in 0..<20 {
                _ = try await world.ask(Samples.batch(1, batch * 500..<(batch + 1) * 500))
            }
            try await world.wait(for: 10_000, .retryable)
            var delays: [Int64] = []
            var query = ReceiptQuery(state: .retryable)
            repeat {
                let page = try await world.ask(query)
                for row in page.receipts where row.attempts == 1 {
                    let due = try #require(row.nextAttemptAt)
                    delays.append(due.milliseconds - row.updatedAt.milliseconds)
                }
                query.after = page.next
            } while query.after != nil
            // Those whose delay is next to nothing may have failed a second time already.
            #expect(delays.count > 9_900)
            let ceiling = RetryDelay.ordinary.ceiling(failures: 1)
            #expect(delays.allSatisfy { (0..<ceiling).contains($0) })
            let tenths = Dictionary(grouping: delays) { $0 * 10 / ceiling }.mapValues(\.count)
            // A thousand each; 150 is five standard deviations.
            #expect((0..<10).allSatisfy { (850...1150).contains(tenths[$0] ?? 0) }, "\(tenths)")
        }
    }
}
