import DeliveryCore
import Testing

@Suite struct RetryDelayTests {
    @Test func ceilingsDoubleUpToTheCap() {
        let ceilings = (1...10).map { RetryDelay.ordinary.ceiling(failures: $0) }
        #expect(
            ceilings
                == [1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 240_000, 240_000]
        )
        #expect(
            (1...5).map { RetryDelay.provider.ceiling(failures: $0) }
                == [60_000, 120_000, 240_000, 480_000, 900_000]
        )
    }

    @Test func noAttemptNumberOverflows() {
        for failures in Array(0...10_000) + [Int64.max, Int64.min, -1] {
            for delay in [RetryDelay.ordinary, .provider] {
                let value = delay.milliseconds(failures: failures, unit: 0.999_999)
                #expect((0...delay.capMilliseconds).contains(value))
            }
        }
    }

    @Test func aStatedDelayIsTheLeast() {
        for unit in [0.0, 0.3, 0.99] {
            #expect(
                RetryDelay.ordinary.milliseconds(failures: 1, stated: 60_000, unit: unit) >= 60_000
            )
        }
        #expect(RetryDelay.ordinary.milliseconds(failures: 1, stated: -5, unit: 0.5) == 500)
    }

    @Test func aStatedDelayIsBelievedUpToOurOwnLongest() {
        for (delay, longest) in [(RetryDelay.ordinary, 240_000), (.provider, 900_000)] {
            let stated = delay.milliseconds(failures: 1, stated: .max, unit: 0.5)
            #expect(stated == Int64(longest) + delay.baseMilliseconds / 2)
        }
    }

    @Test func jitterIsFull() {
        let delays = (0..<100).map {
            RetryDelay.ordinary.milliseconds(failures: 4, unit: Double($0) / 100)
        }
        #expect(delays.first == 0)
        #expect(Set(delays).count == 100)
        #expect((delays.last ?? 0) > 7900)
    }
}
