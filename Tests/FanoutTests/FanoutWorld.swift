import Bus
import Contracts
import FanoutService
import FoundationEssentials
import Glibc
import Loop
import ServiceKit
import TestKit

/// Fanout between stubs of its three peers, all on a real bus.
final class FanoutWorld: Sendable {
    /// How a stub behaves.
    enum Mood: Hashable, Sendable {
        case willing
        /// Answers `retry_after` with these milliseconds.
        case busy(Int64)
        /// Takes requests and never answers.
        case silent
        /// Answers with another failure.
        case broken
        /// Acknowledges without having taken anything.
        case forgetful
    }

    struct Rows: Sendable {
        var byInstallation: [InstallationID: DeliveryEnqueue.Record] = [:]
        var batches: [Int] = []
        var duplicates = 0
    }

    struct Ingest: Sendable {
        var cursor: InstallationID?
        var isOpen = true
        var reports: [FanoutProgress] = []
        var written: Int64 = 0
        var skipped: [String: Int64] = [:]

        var isDone: Bool { reports.last?.state == .done }
        var backs: Int { reports.count { $0.state == .back } }
    }

    let directory: TemporaryDirectory
    let runtime: BusRuntime
    let log: Log
    let audience: Observed<[AudiencePageAnswer.Recipient]>
    let skipped = Observed<[String: Int64]>([:])
    let pagesAsked = Observed(0)
    let rows = Observed(Rows())
    let ingest = Observed(Ingest())
    let registrationMood = Observed(Mood.willing)
    let deliveryMood = Observed(Mood.willing)
    let ingestMood = Observed(Mood.willing)
    private let stop = StopSignal()
    private let stubs = Locked<[Task<Void, any Error>]>([])

    init(installations: Int, log: Log = .silent) throws {
        directory = try TemporaryDirectory()
        self.log = log
        runtime = try BusRuntime(name: "stubs", log: log)
        audience = Observed((0..<installations).map { Self.recipient($0) })
    }

    deinit { runtime.stop() }

    static let key = [UInt8](repeating: 7, count: 32)

    static func recipient(_ number: Int) -> AudiencePageAnswer.Recipient {
        let digits = String(number)
        let name = "install-" + String(repeating: "0", count: 6 - digits.count) + digits
        return AudiencePageAnswer.Recipient(
            installationID: InstallationID(name),
            userID: UserID("alice"),
            deploymentID: DeploymentID("https://pushbus.test"),
            sessionID: SessionID("session"),
            role: .member,
            binding: Int64(number + 1),
            keyID: KeyID(UUID()),
            contentKey: ContentKey(key)
        )
    }

    func endpoint(_ name: String) -> BusEndpoint {
        BusEndpoint(.ipc(directory.file("\(name).sock")))
    }

    // MARK: - Stubs

    func start() async throws {
        var registration = BusRoutes()
        registration.answer(AudiencePage.self) { [self] (request, _) throws(Reject) in
            pagesAsked.update { $0 += 1 }
            try await behave(registrationMood)
            return page(request)
        }
        var delivery = BusRoutes()
        delivery.answer(DeliveryEnqueue.self) { [self] (batch, _) throws(Reject) in
            try await behave(deliveryMood)
            return commit(batch)
        }
        var eventIngest = BusRoutes()
        eventIngest.answer(FanoutProgress.self) { [self] (progress, _) throws(Reject) in
            try await behave(ingestMood)
            return accept(progress)
        }
        try await serve("registration", registration)
        try await serve("delivery", delivery)
        try await serve("eventingest", eventIngest)
    }

    private func serve(_ name: String, _ routes: BusRoutes) async throws {
        let server = try BusServer(
            runtime: runtime,
            name: name,
            endpoint: endpoint(name),
            routes: routes,
            metrics: Metrics(),
            log: log
        )
        let task = Task { [stop] in try await server.run(until: stop) }
        stubs.withLock { $0.append(task) }
        _ = await server.bound()
    }

    func end() async throws {
        stop.trigger()
        for task in stubs.withLock({ $0 }) {
            task.cancel()
            try await task.value
        }
    }

    private func behave(_ mood: Observed<Mood>) async throws(Reject) {
        switch mood.value {
        case .willing, .forgetful: return
        case .busy(let delay):
            throw Reject(.retryAfter, "busy", retryAfterMilliseconds: delay)
        case .silent:
            await mood.wait { $0 != .silent }
            throw Reject(.failed, "was silent")
        case .broken: throw Reject(.failed, "broken")
        }
    }

    private func page(_ request: AudiencePage) -> AudiencePageAnswer {
        let rest = audience.value.filter { recipient in
            request.after.map { $0 < recipient.installationID } ?? true
        }
        let recipients = Array(rest.prefix(request.limit))
        return AudiencePageAnswer(
            recipients: recipients,
            last: recipients.last?.installationID,
            more: rest.count > recipients.count,
            skipped: skipped.value
        )
    }

    private func commit(_ batch: DeliveryEnqueue) -> DeliveryEnqueueAnswer {
        if deliveryMood.value == .forgetful {
            return DeliveryEnqueueAnswer(accepted: 0, duplicate: 1)
        }
        let known = rows.value.byInstallation
        let duplicate = batch.records.count { known[$0.installationID] != nil }
        rows.update { rows in
            rows.batches.append(batch.records.count)
            rows.duplicates += duplicate
            for record in batch.records where rows.byInstallation[record.installationID] == nil {
                rows.byInstallation[record.installationID] = record
            }
        }
        return DeliveryEnqueueAnswer(
            accepted: Int64(batch.records.count - duplicate),
            duplicate: Int64(duplicate)
        )
    }

    private func accept(_ progress: FanoutProgress) -> FanoutProgressAnswer {
        ingest.update { ingest in
            guard ingest.isOpen, progress.from == ingest.cursor else { return }
            ingest.cursor = progress.to
            ingest.written += progress.written
            ingest.skipped.merge(progress.skipped, uniquingKeysWith: +)
            ingest.reports.append(progress)
            if progress.state == .done { ingest.isOpen = false }
        }
        let now = ingest.value
        return FanoutProgressAnswer(
            eventID: progress.eventID,
            cursor: now.cursor,
            isOpen: now.isOpen
        )
    }

    // MARK: - Fanout

    /// Runs a Fanout while `body` does; returning stops it in order.
    ///
    /// `patience` is how long it waits for a peer; short where a test is about a silent one.
    func withFanout<Result: Sendable>(
        pageSize: Int = 100,
        events: Int = 8,
        patience: Duration = .seconds(30),
        _ body: @Sendable (BusClient, ProcessContext) async throws -> Result
    ) async throws -> Result {
        var reader = EnvironmentReader(
            prefix: "PUSHBUS_FANOUT_",
            values: [
                "PUSHBUS_FANOUT_BIND": endpoint("fanout").address,
                "PUSHBUS_FANOUT_EVENTINGEST": endpoint("eventingest").address,
                "PUSHBUS_FANOUT_REGISTRATION": endpoint("registration").address,
                "PUSHBUS_FANOUT_DELIVERY": endpoint("delivery").address,
                "PUSHBUS_FANOUT_PAGE_SIZE": String(pageSize),
                "PUSHBUS_FANOUT_CONCURRENCY": String(events),
            ]
        )
        var settings = FanoutSettings(&reader)
        try reader.finish()
        settings.limits.pageTimeout = patience
        settings.limits.enqueueTimeout = patience
        settings.limits.reportTimeout = patience
        settings.limits.resendEvery = patience / 2
        let context = ProcessContext(name: "fanout", log: log)
        let services = try FanoutAssembly.services(settings, context)
        let client = try BusClient(
            runtime: runtime,
            name: "to-fanout",
            endpoints: .fixed([endpoint("fanout")]),
            metrics: context.metrics,
            log: log
        )
        let running = services.map { service in
            let stop = StopSignal()
            return (stop: stop, task: Task { try await service.run(until: stop) })
        }
        let outcome: Swift.Result<Result, any Error>
        do {
            outcome = .success(try await body(client, context))
        } catch {
            outcome = .failure(error)
        }
        // As the service group does: last started first, one at a time.
        for (stop, task) in running.reversed() {
            if Task.isCancelled { task.cancel() }
            stop.trigger()
            try await task.value
        }
        client.stop()
        return try outcome.get()
    }

    /// Hands the event over with the cursor EventIngest has now.
    func hand(_ client: BusClient, _ event: EventAdmitted) async throws {
        var event = event
        event.cursor = ingest.value.cursor
        _ = try await client.ask(event, timeout: .seconds(10))
    }

    static func event(
        expiresIn seconds: Int64 = 1800,
        rule: String = "cpu"
    ) -> EventAdmitted {
        let now = SystemTime().wall.second
        return EventAdmitted(
            eventID: EventID(UUID()),
            createdAt: now,
            expiresAt: now.adding(seconds: seconds),
            watermark: 1_000_000,
            cursor: nil,
            audience: .everyone,
            content: .alert(
                AlertContent(
                    alertKey: "v1.key",
                    status: .firing,
                    ruleName: rule,
                    serverName: "web-1"
                )
            )
        )
    }
}
