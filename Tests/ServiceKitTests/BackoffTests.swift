import ServiceKit
import Testing

@Suite
struct BackoffTests {
    @Test("No attempt number overflows or leaves the bounds")
    func manyAttempts() {
        let random = RandomSource.seeded(7)
        for backoff in [
            Backoff(), Backoff(base: .nanoseconds(1), cap: .seconds(292 * 365 * 86_400)),
            Backoff(base: .seconds(60), cap: .seconds(900)),
            Backoff(base: .seconds(10), cap: .seconds(1)),
        ] {
            for attempt in 0...10_000 {
                let ceiling = backoff.ceiling(attempt: attempt)
                #expect(ceiling > .zero && ceiling <= backoff.cap)
                let delay = backoff.delay(attempt: attempt, random: random)
                #expect(delay >= .zero && delay <= ceiling)
            }
            #expect(backoff.ceiling(attempt: .max) == backoff.cap)
            #expect(backoff.ceiling(attempt: .min) == min(backoff.base, backoff.cap))
        }
    }

    @Test("The ceiling doubles up to the cap")
    func doubling() {
        let backoff = Backoff()
        let seconds = (0...9).map { backoff.ceiling(attempt: $0) }
        #expect(seconds == [1, 2, 4, 8, 16, 32, 64, 128, 240, 240].map { Duration.seconds($0) })
    }

    @Test("Full jitter reaches both halves of the range")
    func jitter() {
        let random = RandomSource.seeded(1)
        let delays = (0..<100).map { _ in Backoff().delay(attempt: 3, random: random) }
        #expect(delays.contains { $0 < .seconds(2) })
        #expect(delays.contains { $0 > .seconds(6) })
    }
}
