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

    private let directory: TemporaryDirectory
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

    func startDelivery() async throws {
        var routes = BusRoutes()
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
