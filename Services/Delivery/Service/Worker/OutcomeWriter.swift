import DeliveryCore
import Loop
import ServiceKit
import Storage

/// Commits outcomes in batches: what came during the previous commit.
///
/// An outcome is tried until it is committed; while that fails the desk stays closed, since without
/// a commit nothing further is sent.
struct OutcomeWriter: Sendable {
    let store: any DeliveryStore
    let desk: OutboxDesk
    let cleanupBell: WakeSignal
    let time: any TimeSource
    let metrics: DeliveryMetrics
    let readiness: Readiness
    let log: Log
    private let channel = BoundedChannel<[RowOutcome]>(capacity: 64)

    private static let batchesPerCommit = 64
    private static let condition = "outbox"
    private static let retryInterval = Duration.milliseconds(200)

    init(
        store: any DeliveryStore,
        desk: OutboxDesk,
        cleanupBell: WakeSignal,
        time: any TimeSource,
        metrics: DeliveryMetrics,
        readiness: Readiness,
        log: Log
    ) {
        self.store = store
        self.desk = desk
        self.cleanupBell = cleanupBell
        self.time = time
        self.metrics = metrics
        self.readiness = readiness
        self.log = log
    }

    /// Hands outcomes over; waits while many are waiting already.
    func write(_ outcomes: [RowOutcome]) async {
        // A cancelled sender's outcomes count too, so waiting comes only after this.
        guard !outcomes.isEmpty, !channel.trySend(outcomes) else { return }
        do {
            try await channel.send(outcomes)
        } catch {
            // Only after the end of the worker: the leases lapse and another claim repeats the send.
            log.warning("outcomes dropped", ["rows": .int(outcomes.count)])
        }
    }

    /// No further outcomes will come.
    func finish() { channel.finish() }

    /// Commits until finished; throws only when the store cannot be used any more.
    func run() async throws {
        readiness.set(Self.condition, .ok)
        while true {
            let batches = await channel.nextBatch(max: Self.batchesPerCommit)
            guard !batches.isEmpty else { return }
            let outcomes = batches.flatMap(\.self)
            let results = try await commit(outcomes)
            for result in results { metrics.settled(result) }
            if outcomes.contains(where: { $0.cleanup != nil }) { cleanupBell.signal() }
            await desk.putDown(outcomes.map(\.rowID), someWait: results.contains(.waiting))
        }
    }

    private func commit(_ outcomes: [RowOutcome]) async throws -> [SettleResult] {
        var failed = false
        while true {
            do {
                let results = try await store.settle(outcomes)
                if failed {
                    log.info("store commits again")
                    readiness.set(Self.condition, .ok)
                }
                return results
            } catch let error as StorageError where error.isRetriable {
                if !failed {
                    log.error("store does not commit", ["error": .text(error)])
                    readiness.set(Self.condition, .waiting("\(error)"))
                }
                failed = true
                metrics.storeFailures.add()
                await desk.setStoreFailing()
                try await time.sleep(for: Self.retryInterval)
            }
        }
    }
}
