import Loop
import ServiceKit
import TestKit
import Testing

/// A store that fails and is tried until it has mended.
@Suite struct StoreConditionTests {
    private struct Failure: Error {}

    @Test func aFailedWriteCountsUntilOneSucceeds() {
        let readiness = Readiness()
        let condition = StoreCondition(readiness)
        #expect(readiness.isReady && !condition.needsProbe)
        condition.fails(Failure())
        #expect(!readiness.isReady && condition.needsProbe)
        condition.writes()
        #expect(readiness.isReady && !condition.needsProbe)
    }

    @Test func isTriedOnlyWhileItFails() async throws {
        let readiness = Readiness()
        let condition = StoreCondition(readiness)
        let time = ManualTime()
        let tries = Observed(0)
        let probe = StoreProbe(condition, time: time) {
            tries.update { $0 += 1 }
            if tries.value < 3 { throw Failure() }
        }
        let stop = StopSignal()
        let running = Task { try await probe.run(until: stop) }
        for round in 1...2 {
            condition.fails(Failure())
            for number in 1...(round == 1 ? 3 : 1) {
                await time.waitForSleepers(1)
                #expect(!readiness.isReady)
                time.advance(by: StoreProbe.interval)
                let wanted = (round - 1) * 3 + number
                _ = try await within(.seconds(20)) { await tries.wait { $0 >= wanted } }
            }
            _ = try await within(.seconds(20)) { await readiness.waitUntilStarted() }
            #expect(tries.value == (round == 1 ? 3 : 4))
        }
        stop.trigger()
        try await running.value
    }
}
