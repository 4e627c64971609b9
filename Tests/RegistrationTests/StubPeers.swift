import Bus
import Contracts
import Loop
import ServiceKit
import TestKit

/// Stands in for EventIngest and Delivery on the bus.
final class StubPeers: Sendable {
    /// Events as they came, repeats included.
    let published = Observed<[JSONValue]>([])
    /// What is answered to each event; the last one stays.
    let answers = Locked<[PublishStatus]>([.accepted])
    /// Receipts that Delivery has.
    let receipts = Locked<[ReceiptQueryAnswer.Receipt]>([])

    /// When Delivery's relay said last that it has no credentials; 0 when it has.
    let notConfiguredAt = Locked<Int64>(0)
    /// How often Delivery was asked about itself.
    let statusQuestions = Observed(0)

    private let directory: TemporaryDirectory
    private let deliveryRuns = Locked(false)
    private let running = Locked<[(stop: StopSignal, task: Task<Void, any Error>)]>([])
    private let runtime = Locked<BusRuntime?>(nil)

    init(directory: TemporaryDirectory) {
        self.directory = directory
    }

    func startEventIngest() async throws {
        var routes = BusRoutes()
        routes.answer(EventPublish.self) { [published, answers] (request, _) throws(Reject) in
            let results = request.events.map { _ in
                EventPublishAnswer.Result(
                    answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
                )
            }
            published.update { $0 += request.events }
            return EventPublishAnswer(results: results)
        }
        try await start("eventingest", routes)
    }

    /// Starts it unless it runs.
    func startDelivery() async throws {
        let isNew = deliveryRuns.withLock { runs -> Bool in
            defer { runs = true }
            return !runs
        }
        guard isNew else { return }
        var routes = BusRoutes()
        routes.answer(ServiceStatus.self) {
            [statusQuestions, notConfiguredAt] (_, _) throws(Reject) in
            statusQuestions.update { $0 += 1 }
            return ServiceStatusAnswer(
                service: "delivery",
                version: "stub",
                processID: 1,
                ready: true,
                conditions: [:],
                metrics: [
                    ServiceStatusAnswer.relayNotConfiguredMetric:
                        Double(notConfiguredAt.withLock { $0 })
                ]
            )
        }
        routes.answer(ReceiptQuery.self) { [receipts] (query, _) throws(Reject) in
            ReceiptQueryAnswer(
                receipts: receipts.withLock { $0 }.filter {
                    $0.eventID == query.eventID && $0.installationID == query.installationID
                },
                next: nil
            )
        }
        try await start("delivery", routes)
    }

    private func start(_ name: String, _ routes: BusRoutes) async throws {
        let runtime = try runtime.withLock { runtime in
            let current = try runtime ?? BusRuntime(name: "stub-bus", log: .silent)
            runtime = current
            return current
        }
        let server = try BusServer(
            runtime: runtime,
            name: name,
            endpoint: BusEndpoint(parsing: "ipc://\(directory.path)/\(name).sock"),
            routes: routes,
            metrics: Metrics(),
            log: .silent
        )
        let stop = StopSignal()
        let task = Task { try await server.run(until: stop) }
        running.withLock { $0.append((stop, task)) }
        _ = await server.bound()
    }

    func stop() async {
        for server in running.withLock({ $0 }) {
            server.stop.trigger()
            _ = try? await server.task.value
        }
        runtime.withLock { $0 }?.stop()
    }
}
