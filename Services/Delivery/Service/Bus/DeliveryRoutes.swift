import Bus
import Contracts
import ServiceKit
import Storage

/// What Delivery answers on the bus.
struct DeliveryRoutes: Sendable {
    let store: any DeliveryStore
    let desk: OutboxDesk
    let limits: WorkerLimits
    let time: any TimeSource
    let metrics: DeliveryMetrics
    let log: Log

    /// When a sender may come back after a refusal, in milliseconds.
    private static let comeBackMilliseconds: Int64 = 2000

    func routes(_ context: ProcessContext) -> BusRoutes {
        var routes = BusRoutes()
        routes.answer(DeliveryEnqueue.self) { batch, _ throws(Reject) in
            try await enqueue(batch)
        }
        routes.answer(ReceiptQuery.self) { query, _ throws(Reject) in
            try await reading { try await store.receipts(query) }
        }
        routes.answer(OutboxStatus.self) { _, _ throws(Reject) in
            try await reading { try await store.status() }
        }
        administer(&routes)
        routes.answerStatus(of: context)
        return routes
    }

    /// Commits, then answers; the rows that are leased at once go straight to the worker.
    private func enqueue(_ batch: DeliveryEnqueue) async throws(Reject) -> DeliveryEnqueueAnswer {
        let reserved = await desk.reserve(batch.records.count)
        let asked = time.monotonic
        do {
            let result = try await store.enqueue(batch, leasing: reserved, lease: limits.lease)
            await desk.deliver(
                result.leased,
                left: result.accepted - result.leased.count,
                reserved: reserved,
                asked: asked
            )
            metrics.accepted.add(UInt64(result.accepted))
            metrics.duplicate.add(UInt64(result.duplicate))
            return DeliveryEnqueueAnswer(
                accepted: Int64(result.accepted),
                duplicate: Int64(result.duplicate)
            )
        } catch {
            await desk.deliver([], left: 0, reserved: reserved, asked: asked)
            metrics.refused.add(UInt64(batch.records.count))
            throw reject(error)
        }
    }

    func reading<Value>(
        _ body: () async throws -> Value
    ) async throws(Reject) -> Value {
        do {
            return try await body()
        } catch {
            throw reject(error)
        }
    }

    private func reject(_ error: any Error) -> Reject {
        guard let error = error as? StorageError else {
            return Reject(.failed, "the outbox could not be used")
        }
        log.warning("store refused", ["error": .text(error)])
        guard error.isRetriable else { return Reject(.failed, error.message) }
        return Reject(
            .retryAfter,
            error.message,
            retryAfterMilliseconds: Self.comeBackMilliseconds
        )
    }
}
