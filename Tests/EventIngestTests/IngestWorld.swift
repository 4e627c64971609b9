import Bus
import Contracts
import EventIngestCore
import EventIngestService
import Loop
import ServiceKit
import Storage
import TestKit

/// An EventIngest process on a real bus, with a stub Registration, stub Fanouts and a clock that
/// stands still.
final class IngestWorld: Sendable {
    let directory: TemporaryDirectory
    let time = ManualTime(wall: StoreWorld.start)
    let lines = LogCollector()
    let runtime: BusRuntime
    /// How many events stub Fanouts have got.
    let handed = Observed(0)

    init() throws {
        directory = try TemporaryDirectory()
        runtime = try BusRuntime(name: "world", log: .silent)
    }

    func endpoint(_ name: String) -> BusEndpoint {
        BusEndpoint(.ipc(directory.file("\(name).sock")))
    }

    var settings: EventIngestSettings {
        EventIngestSettings(
            bind: endpoint("eventingest"),
            registration: .fixed([endpoint("registration")]),
            fanout: .fixed([endpoint("fanout-a"), endpoint("fanout-b")]),
            store: .sqlite(path: directory.file("events.db"))
        )
    }

    /// Starts the process and returns once it is ready.
    func start(_ settings: EventIngestSettings? = nil) async throws -> IngestProcess {
        let context = ProcessContext(
            name: "eventingest",
            log: Log(level: .debug, sink: lines.sink),
            time: time,
            random: .seeded(1)
        )
        let assembly = try await EventIngestAssembly.build(settings ?? self.settings, context)
        let task = Task {
            await ServiceGroup(
                assembly.services,
                gracePeriod: .seconds(10),
                log: context.log,
                signals: .none,
                stop: context.stop
            ).run()
        }
        _ = try await within(.seconds(20)) { await context.readiness.waitUntilStarted() }
        return IngestProcess(context: context, task: task)
    }

    func client(
        _ endpoint: BusEndpoint? = nil,
        security: BusSecurity = .trustedDirectory
    ) throws -> BusClient {
        try BusClient(
            runtime: runtime,
            name: "producer",
            endpoints: .fixed([endpoint ?? self.endpoint("eventingest")]),
            security: security,
            window: 256,
            metrics: Metrics(),
            log: .silent
        )
    }

    /// Waits until the three loops of the pipeline rest, then moves the clocks.
    func advance(by duration: Duration) async throws {
        try await within(.seconds(20)) { await self.time.waitForSleepers(3) }
        time.advance(by: duration)
    }
}

/// The process under test.
struct IngestProcess: Sendable {
    let context: ProcessContext
    let task: Task<Int32, Never>

    /// Stops it in order and returns its exit code.
    @discardableResult
    func stop() async -> Int32 {
        context.stop.trigger()
        return await task.value
    }

    func count(_ name: String) -> Double { context.metrics.snapshot()[name] ?? 0 }
}

/// A server of the world that answers until it is ended.
struct StubServer: Sendable {
    let stop = StopSignal()
    let task: Task<Void, any Error>

    init(_ world: IngestWorld, _ name: String, _ routes: BusRoutes) async throws {
        let server = try BusServer(
            runtime: world.runtime,
            name: name,
            endpoint: world.endpoint(name),
            routes: routes,
            metrics: Metrics(),
            log: .silent
        )
        task = Task { [stop] in try await server.run(until: stop) }
        _ = await server.bound()
    }

    func end() async {
        stop.trigger()
        _ = await task.result
    }
}

/// Answers watermarks.
struct StubRegistration: Sendable {
    let server: StubServer
    /// The ids of the questions; a resend carries the same one.
    let asked: Observed<Set<String>>
    /// While closed, questions wait for their answer.
    let gate: Observed<Bool>

    init(_ world: IngestWorld, watermark: Int64 = 7, isOpen: Bool = true) async throws {
        let (asked, gate) = (Observed<Set<String>>([]), Observed(isOpen))
        var routes = BusRoutes()
        routes.answer(AudienceOpen.self) { (_, context) throws(Reject) in
            asked.update { $0.insert(context.id) }
            await gate.wait { $0 }
            return AudienceOpenAnswer(watermark: watermark)
        }
        (self.asked, self.gate) = (asked, gate)
        server = try await StubServer(world, "registration", routes)
    }
}

/// Takes events and leaves the reports to the test.
struct StubFanout: Sendable {
    enum Manner: Sendable {
        case taking
        case busy
        /// Takes the request and never answers.
        case silent
    }

    let server: StubServer
    let events: Observed<[EventAdmitted]>
    let traces: Observed<[String?]>
    let manner: Observed<Manner>

    init(
        _ world: IngestWorld,
        _ name: String = "fanout-a",
        _ first: Manner = .taking
    ) async throws {
        let events = Observed<[EventAdmitted]>([])
        let traces = Observed<[String?]>([])
        let manner = Observed(first)
        let stop = StopSignal()
        var routes = BusRoutes()
        routes.answer(EventAdmitted.self) { (event, context) throws(Reject) in
            // Read before anybody learns that the event came, and perhaps changes it.
            let now = manner.value
            traces.update { $0.append(context.traceparent) }
            events.update { $0.append(event) }
            world.handed.update { $0 += 1 }
            switch now {
            case .taking: return Ack()
            case .busy: throw Reject(.retryAfter, "no room", retryAfterMilliseconds: 300)
            case .silent:
                await stop.wait()
                throw Reject(.failed, "never answered")
            }
        }
        (self.events, self.traces, self.manner) = (events, traces, manner)
        server = try await StubServer(world, name, routes)
        silence = stop
    }

    private let silence: StopSignal

    func end() async {
        silence.trigger()
        await server.end()
    }

    /// The events taken so far, once there are that many.
    func received(_ count: Int) async throws -> [EventAdmitted] {
        try await within(.seconds(20)) { await events.wait { $0.count >= count } ?? [] }
    }
}

extension BusClient {
    func publish(_ events: JSONValue...) async throws -> [EventPublishAnswer.Result] {
        try await ask(
            EventPublish(events: events, isBatch: events.count != 1),
            timeout: .seconds(20)
        ).results
    }

    func report(
        _ event: EventID,
        from: String? = nil,
        to: String? = nil,
        _ state: FanoutProgress.State,
        delay: Int64? = nil
    ) async throws -> FanoutProgressAnswer {
        try await ask(
            FanoutProgress(
                eventID: event,
                from: from.map { InstallationID($0) },
                to: to.map { InstallationID($0) },
                written: 1,
                skipped: [:],
                state: state,
                delayMilliseconds: delay
            ),
            timeout: .seconds(20)
        )
    }

    func event(_ id: EventID) async throws -> EventQueryAnswer.Event? {
        try await ask(EventQuery(eventID: id), timeout: .seconds(20)).events.first
    }
}
