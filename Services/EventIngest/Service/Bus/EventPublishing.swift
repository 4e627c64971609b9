import Bus
import Contracts
import EventIngestCore
import FoundationEssentials
import Loop
import PushBusCrypto
import ServiceKit
import Storage

/// Answers `event.publish.v1`: reads each event, commits what is new, then says so.
package struct EventPublishing: Sendable {
    /// The principal that may publish targeted tests, besides the processes of a trusted directory.
    package static let testPrincipal = "registration"

    let store: any EventStore
    let identity: EventIdentity
    let metrics: EventMetrics
    let log: Log
    let wakes: PipelineWakes
    let prompt: PromptWatermark
    /// Events that may be at Fanouts at the same time.
    let handedOut: Int
    let condition: IngestCondition

    package init(
        store: any EventStore,
        prompt: PromptWatermark,
        handedOut: Int,
        condition: IngestCondition,
        metrics: EventMetrics,
        log: Log,
        wakes: PipelineWakes
    ) {
        self.store = store
        identity = EventIdentity(sha256: Self.hash)
        self.metrics = metrics
        self.log = log
        self.wakes = wakes
        self.prompt = prompt
        self.handedOut = handedOut
        self.condition = condition
    }

    /// Answers a publish on the bus.
    package func publish(
        _ request: EventPublish,
        from peer: BusPeer,
        traceparent: String? = nil
    ) async throws(Reject) -> EventPublishAnswer {
        let isLocal = peer.principal == BusPeer.local.principal
        return try await publish(
            request.events.map { .success($0) },
            as: isLocal ? .trusted : .principal(peer.principal),
            traceparent: traceparent
        ) { peer.may(publish: $0) }
    }

    /// One answer for each event, in their order; valid ones are committed together.
    package func publish(
        _ events: [Result<JSONValue, ContractViolation>],
        as publisher: Publisher,
        traceparent: String? = nil,
        mayUse: (String) -> Bool = { _ in true }
    ) async throws(Reject) -> EventPublishAnswer {
        let trace = traceparent.flatMap { TraceParent.isWellFormed($0) ? $0 : nil }
        var results: [EventPublishAnswer.Result?] = []
        var candidates: [EventCandidate] = []
        for event in events {
            do throws(ContractViolation) {
                var candidate = try EventCandidate(
                    try event.get(),
                    identity: identity,
                    decodeJSON: Self.decodeJSON
                )
                candidate.publisher = publisher
                try check(candidate, mayUse)
                candidate.traceparent = candidate.traceparent ?? trace
                candidates.append(candidate)
                results.append(nil)
            } catch {
                results.append(.init(.invalid, pointer: error.pointer, reason: error.reason))
            }
        }
        var admitted = try await admit(candidates)[...]
        let answer = EventPublishAnswer(
            results: results.map { $0 ?? admitted.popFirst() ?? .init(.retryAfter) }
        )
        for result in answer.results { metrics.answered(result.status) }
        return answer
    }

    private func admit(
        _ candidates: [EventCandidate]
    ) async throws(Reject) -> [EventPublishAnswer.Result] {
        if candidates.isEmpty { return [] }
        let admitted: AdmittedEvents
        do {
            admitted = try await store.admit(
                candidates,
                watermark: await prompt.value(),
                handingOut: handedOut
            )
            condition.store.writes()
        } catch {
            condition.store.fails(error)
            metrics.failed("admission")
            log.error("events not recorded", ["error": .error(error)])
            let isRetriable = (error as? StorageError)?.isRetriable ?? false
            throw Reject(
                .retryAfter,
                "nothing of this was recorded; publish it again later",
                retryAfterMilliseconds: isRetriable ? 1000 : 10_000
            )
        }
        // One that finds no place comes due again when nobody reports about it.
        for order in admitted.orders { _ = wakes.orders.trySend(order) }
        var isAnyOpen = false
        for admission in admitted.admissions {
            if admission == .full { condition.isFull() }
            if admission == .notPermitted { metrics.refused() }
            guard case .record(let record) = admission else { continue }
            metrics.recorded(record.verdict)
            if [.admitted, .unresolved].contains(record.verdict) { isAnyOpen = true }
        }
        if isAnyOpen { wakes.committed.signal() }
        return admitted.admissions.map(\.result)
    }

    private func check(
        _ candidate: EventCandidate,
        _ mayUse: (String) -> Bool
    ) throws(ContractViolation) {
        guard mayUse(candidate.source) else {
            metrics.refused()
            throw ContractViolation("/source", Admission.notPermittedReason)
        }
        guard case .test = candidate.happening else { return }
        guard [.trusted, .principal(Self.testPrincipal)].contains(candidate.publisher) else {
            metrics.refused()
            throw ContractViolation(
                "/type",
                "is published by Registration only; ask for a test over its API"
            )
        }
    }

    /// The hash that identities and contents are told by.
    package static let hash: Hash = { SHA256.hash($0) }

    private static func decodeJSON(_ bytes: [UInt8]) -> JSONValue? {
        try? JSONDecoder().decode(JSONValue.self, from: Data(bytes))
    }
}
