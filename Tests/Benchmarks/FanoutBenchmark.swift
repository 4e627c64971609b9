import Contracts
import FoundationEssentials
import Loop
import Topology

/// One alert to a large audience with real processes, while installations register: how long until
/// everybody has one row, and how much memory Fanout takes meanwhile.
///
/// Time ends when EventIngest has the report that the fan-out is complete; the Relay sends all the
/// while, which is what competes for the processors in service too.
struct FanoutBenchmark: Benchmark {
    static let name = "fanout"
    static let summary = "one alert to --audience installations: time, and Fanout's memory"

    /// Installations that register while the alert is fanned out.
    private static let newcomers = 200
    /// A page's wait between two looks at the memory.
    private static let pace = Duration.milliseconds(50)

    /// What Fanout may take at most, in MiB.
    private static let memoryLimit = 64.0

    private let options: BenchOptions

    init(_ options: BenchOptions) { self.options = options }

    func run(_ report: BenchReport) async throws {
        let world = try await BenchWorld.start()
        do {
            try await run(report, in: world)
            await world.close()
        } catch {
            await world.close()
            throw error
        }
    }

    private func run(_ report: BenchReport, in world: BenchWorld) async throws {
        let count = options.audience
        report.note("registering \(count) installations")
        _ = try await BenchPhone.register(count, in: world)
        let idle = try memory(in: world)
        var events = BenchEvents()
        let alert = try events.alert()
        let start = ContinuousClock.now
        let id = try await world.publishOne(alert)
        // They come after the event: their bindings are newer, so they get no row.
        async let newcomers = BenchPhone.register(Self.newcomers, from: count, in: world)
        var peak = idle
        var found = try await world.event(id)
        while found.state != .fannedOut {
            guard found.state == .admitted else {
                throw BenchFailure("the event is \(found.state), \(found.written) rows written")
            }
            peak = max(peak, try memory(in: world))
            try await Task.sleep(for: Self.pace)
            found = try await world.event(id)
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        _ = try await newcomers
        guard found.written == Int64(count) else {
            throw BenchFailure("\(found.written) rows instead of \(count): \(found.skipped)")
        }
        report.note("\(count) rows, \(found.skipped.map { "\($0.value) \($0.key)" }) left out")
        report.result("fanout.audience", value: seconds, unit: "s")
        report.result("fanout.rate", value: Double(count) / seconds, unit: "rows/s")
        report.result("fanout.memory.idle", value: idle, unit: "MiB")
        report.result("fanout.memory.peak", value: peak, unit: "MiB")
        guard peak <= Self.memoryLimit else {
            throw BenchFailure("Fanout took \(peak) MiB; \(Self.memoryLimit) are allowed")
        }
        try await checkRows(of: id, count: count, in: world)
        try await world.waitUntilSettled()
        report.result("fanout.memory.after", value: try memory(in: world), unit: "MiB")
    }

    /// Delivery holds one row for each installation, whatever the reports say.
    private func checkRows(of event: EventID, count: Int, in world: BenchWorld) async throws {
        var installations: Set<InstallationID> = []
        var rows = 0
        var after: Int64?
        repeat {
            let page = try await world.ask(.delivery, ReceiptQuery(eventID: event, after: after))
            rows += page.receipts.count
            installations.formUnion(page.receipts.map(\.installationID))
            after = page.next
        } while after != nil
        guard rows == count, installations.count == count else {
            throw BenchFailure(
                "\(rows) rows for \(installations.count) installations instead of \(count)"
            )
        }
    }

    private func memory(in world: BenchWorld) throws -> Double {
        guard let pid = world.processIDs[PushBusService.fanout.rawValue] else {
            throw BenchFailure("Fanout does not run")
        }
        return try ProcessFigures.memoryMiB(pid)
    }
}

extension BenchWorld {
    /// Publishes one event and gives its identifier.
    func publishOne(_ event: JSONValue) async throws -> EventID {
        let answer = try await ask(.eventIngest, EventPublish(events: [event]))
        guard let id = answer.results.first?.eventID else {
            throw BenchFailure("publish answered \(answer.results)")
        }
        return id
    }

    /// How an event stands.
    func event(_ id: EventID) async throws -> EventQueryAnswer.Event {
        guard let event = try await ask(.eventIngest, EventQuery(eventID: id)).events.first else {
            throw BenchFailure("\(id) is unknown")
        }
        return event
    }
}
