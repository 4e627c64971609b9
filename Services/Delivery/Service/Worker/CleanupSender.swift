import Contracts
import DeliveryCore
import ServiceKit

/// Tells Registration what the provider said about tokens, until it has acknowledged.
struct CleanupSender: Sendable {
    let store: any DeliveryStore
    let desk: OutboxDesk
    let registration: any RegistrationPort
    /// Random at each start of this process.
    let processID: String
    let bell: WakeSignal
    let limits: WorkerLimits
    let time: any TimeSource
    let random: RandomSource
    let metrics: DeliveryMetrics
    let log: Log

    private static let batch = 256
    /// How long to wait when there is nothing to send. Totals go out as often, so that the verdicts
    /// of a healthy hour do not hide those of a bad minute from Registration's guard.
    private static let idleInterval = Duration.seconds(60)

    /// Sends until the task is cancelled.
    func run() async {
        let backoff = Backoff(base: .seconds(1), cap: .seconds(60))
        var failures = 0
        var reported = await desk.totals
        while !Task.isCancelled {
            do {
                let waiting = try await store.cleanups(limit: Self.batch)
                let totals = await desk.totals
                if waiting.isEmpty, totals == reported {
                    await bell.wait(atMost: Self.idleInterval, time: time)
                    continue
                }
                try await send(waiting, totals)
                reported = totals
                failures = 0
                if waiting.isEmpty { await bell.wait(atMost: Self.idleInterval, time: time) }
            } catch {
                if Task.isCancelled { return }
                log.warning("clean-up not acknowledged", ["error": .error(error)])
                try? await time.sleep(for: backoff.delay(attempt: failures, random: random))
                failures += 1
            }
        }
    }

    private func send(_ waiting: [StoredCleanup], _ totals: ProviderTotals) async throws {
        let request = RegistrationCleanup(
            processID: processID,
            totals: totals.byEnvironment,
            items: waiting.map(\.item)
        )
        let answer = try await registration.clean(request, timeout: limits.checkTimeout)
        guard answer.results.count == waiting.count else {
            metrics.alarm(.malformedAnswer)
            throw UnusableAnswer()
        }
        if waiting.isEmpty { return }
        try await store.acknowledge(cleanups: waiting.map(\.rowID))
        for result in answer.results { metrics.cleaned(result) }
    }
}

/// An answer that does not have one entry for each item.
struct UnusableAnswer: Error, CustomStringConvertible {
    var description: String {
        "the answer has another number of results than the request had items"
    }
}
