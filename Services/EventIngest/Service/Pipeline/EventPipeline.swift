import Contracts
import EventIngestCore
import Loop
import ServiceKit
import Storage

/// Brings every committed event to the end of its fan-out or of its time.
///
/// Loops work on the store alone, so that a restart continues where the last life ended: one
/// asks for watermarks, one hands out what is due, one ends what has had its time. A fourth carries what
/// was handed out in the transaction that admitted it; what it loses comes due again.
package struct EventPipeline: Service {
    package let name = "pipeline"
    let store: any EventStore
    let registration: any WatermarkSource
    let prompt: PromptWatermark
    let fanout: any FanoutPort
    let limits: PipelineLimits
    let condition: IngestCondition
    let time: any TimeSource
    let random: RandomSource
    let metrics: EventMetrics
    let log: Log
    package let wakes: PipelineWakes

    package init(
        store: any EventStore,
        registration: any WatermarkSource,
        prompt: PromptWatermark,
        fanout: any FanoutPort,
        limits: PipelineLimits = PipelineLimits(),
        condition: IngestCondition,
        context: ProcessContext,
        metrics: EventMetrics,
        wakes: PipelineWakes
    ) {
        self.store = store
        self.registration = registration
        self.prompt = prompt
        self.fanout = fanout
        self.limits = limits
        self.condition = condition
        time = context.time
        random = context.random
        log = context.log
        self.metrics = metrics
        self.wakes = wakes
    }

    /// Makes events due that an earlier life of this process handed out.
    func takeBack() async throws {
        let count = try await store.recover()
        if count > 0 { log.info("handed out events taken back", ["count": .int(count)]) }
    }

    package func run(until stop: StopSignal) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await settleWatermarks() }
            group.addTask { try await handOut() }
            group.addTask { await handOutAdmitted() }
            group.addTask { try await endAndPurge() }
            group.addTask { await stop.wait() }
            try await group.next()
        }
    }

    /// Repeats an activity until the task is cancelled. What it throws is logged and tried again
    /// after a pause, except what no repetition can mend, which ends the process.
    func repeating(
        _ activity: StaticString,
        _ body: () async throws -> Void
    ) async throws {
        let backoff = Backoff(base: .milliseconds(200), cap: .seconds(5))
        var failures = 0
        while !Task.isCancelled {
            do {
                try await body()
                failures = 0
            } catch {
                if Task.isCancelled { return }
                if let error = error as? StorageError, error.isFatal { throw error }
                metrics.failed(activity)
                log.warning(
                    "pipeline activity failed",
                    ["activity": .string("\(activity)"), "error": .error(error)]
                )
                try? await time.sleep(for: backoff.delay(attempt: failures, random: random))
                failures += 1
            }
        }
    }
}

/// Bounds of the pipeline.
package struct PipelineLimits: Hashable, Sendable {
    /// Events that are at Fanouts at the same time.
    package var handedOut: Int
    /// Rows that one transaction of upkeep touches.
    package var upkeepRows: Int
    /// How often ends are looked for, besides being looked for at every hand-off.
    package var upkeepInterval: Duration
    /// How often old records are looked for.
    package var purgeInterval: Duration

    package init(
        handedOut: Int = 64,
        upkeepRows: Int = 500,
        upkeepInterval: Duration = .seconds(1),
        purgeInterval: Duration = .seconds(60)
    ) {
        self.handedOut = handedOut
        self.upkeepRows = upkeepRows
        self.upkeepInterval = upkeepInterval
        self.purgeInterval = purgeInterval
    }
}

/// How the parts of the process tell the pipeline that there is something to do.
package struct PipelineWakes: Sendable {
    /// An event was committed without a watermark.
    package let committed = WakeSignal()
    /// An event became due, or one that others wait for has ended.
    package let due = WakeSignal()
    /// What was handed out in the transaction that admitted it.
    let orders = BoundedChannel<HandoffOrder>(capacity: 4096)

    package init() {}
}
