import Contracts
import EventIngestCore
import EventIngestService
import Loop
import ServiceKit
import TestKit
import Testing

/// The pipeline with peers that fail in ways a real socket does not show on demand.
@Suite struct BrokenPeerTests {
    private struct FailingRegistration: WatermarkSource {
        struct Failure: Error {}
        let failures: Observed<Int>

        func watermark(within limit: Duration) async throws -> Int64 {
            guard failures.value >= 3 else {
                failures.update { $0 += 1 }
                throw Failure()
            }
            return 5
        }
    }

    private struct ScriptedFanout: FanoutPort {
        let results: [HandoffResult]
        let handed: Observed<[HandoffOrder]>

        func hand(_ order: HandoffOrder) async -> HandoffResult {
            let count = handed.value.count
            handed.update { $0.append(order) }
            return count < results.count ? results[count] : .taken
        }
    }

    /// Runs a pipeline over a store with one event until the event has been handed out `count`
    /// times, moving the clock whenever all three loops rest.
    private func run(_ results: [HandoffResult], until count: Int) async throws -> Duration {
        let factory = try #require(StoreFactory.all.first)
        let world = try await StoreWorld(factory)
        let (store, time) = (world.store, world.time)
        try await world.publish(EventSamples.alert())
        let handed = Observed<[HandoffOrder]>([])
        let failures = Observed(0)
        let context = ProcessContext(
            name: "eventingest",
            log: .silent,
            time: time,
            random: .seeded(1)
        )
        let registration = FailingRegistration(failures: failures)
        let pipeline = EventPipeline(
            store: store,
            registration: registration,
            prompt: PromptWatermark(registration),
            fanout: ScriptedFanout(results: results, handed: handed),
            condition: IngestCondition(context.readiness, limits: EventStoreLimits()),
            context: context,
            metrics: EventMetrics(context.metrics),
            wakes: PipelineWakes()
        )
        let stop = StopSignal()
        let running = Task { try await pipeline.run(until: stop) }
        let begin = time.monotonic
        let moving = Task {
            while !Task.isCancelled, handed.value.count < count {
                await time.waitForSleepers(3)
                time.advance(by: .milliseconds(100))
            }
        }
        _ = try await within(.seconds(30)) { await handed.wait { $0.count >= count } }
        await moving.value
        stop.trigger()
        try await running.value
        await store.close()
        #expect(failures.value == 3)
        #expect(handed.value.allSatisfy { $0.event.watermark == 5 })
        return begin.duration(to: time.monotonic)
    }

    @Test func handsOutAgainSoonAfterABrokenConnection() async throws {
        let elapsed = try await run([.silent, .silent], until: 3)
        #expect(elapsed >= .seconds(2))
        #expect(elapsed < .seconds(14))
    }

    @Test func doesNotHurryAFanoutThatRefuses() async throws {
        let elapsed = try await run([.refused("unreadable")], until: 2)
        #expect(elapsed >= .seconds(15))
        #expect(elapsed < .seconds(25))
    }
}
