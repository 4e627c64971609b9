import Bus
import Contracts
import EventIngestCore
import ServiceKit

/// What EventIngest answers on the bus.
package struct EventIngestRoutes: Sendable {
    let store: any EventStore
    let publishing: EventPublishing
    let metrics: EventMetrics
    let wakes: PipelineWakes
    let rulings: PolicyRulings
    let keys: IntegratorKeys
    let context: ProcessContext

    package init(
        store: any EventStore,
        publishing: EventPublishing,
        metrics: EventMetrics,
        wakes: PipelineWakes,
        rulings: PolicyRulings = PolicyRulings(),
        keys: IntegratorKeys = IntegratorKeys(),
        context: ProcessContext
    ) {
        self.store = store
        self.publishing = publishing
        self.metrics = metrics
        self.wakes = wakes
        self.rulings = rulings
        self.keys = keys
        self.context = context
    }

    package func routes() -> BusRoutes {
        var routes = BusRoutes()
        routes.answer(EventPublish.self) { (request, bus) throws(Reject) in
            try await publishing.publish(request, from: bus.peer, traceparent: bus.traceparent)
        }
        routes.acceptBare(EventPublish.self)
        routes.answer(FanoutProgress.self) { (report, _) throws(Reject) in
            try await record(report)
        }
        routes.answer(EventQuery.self) { (query, _) throws(Reject) in
            let events = try await stored { try await store.events(query) }
            return EventQueryAnswer(events: events)
        }
        routes.answer(EventExplain.self) { (query, _) throws(Reject) in
            try await stored { try await store.explain(query) }
        }
        addPolicy(to: &routes)
        routes.answerStatus(of: context)
        return routes
    }

    private func record(_ report: FanoutProgress) async throws(Reject) -> FanoutProgressAnswer {
        do throws(ContractViolation) {
            try report.checkDirection()
        } catch {
            throw Reject(.malformed, error.reason, pointer: error.pointer)
        }
        let recorded = try await stored { try await store.record(report) }
        metrics.reported(recorded)
        if recorded.reception != .stale { wakes.due.signal() }
        return recorded.answer
    }

    func stored<Value: Sendable>(
        _ body: () async throws -> Value
    ) async throws(Reject) -> Value {
        do {
            return try await body()
        } catch {
            metrics.failed("request")
            context.log.error("store request failed", ["error": .error(error)])
            throw Reject(
                .retryAfter,
                "the store cannot answer now; ask again later",
                retryAfterMilliseconds: 1000
            )
        }
    }
}
