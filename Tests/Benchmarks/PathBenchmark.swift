import Contracts
import FoundationEssentials
import Topology

/// The whole path with real processes: publish on the bus, five services, durable, APNs' 200 from
/// the simulator. Speed is compared with h2load against the same simulator in the same run.
///
/// Equal on both sides: simulator, header fields, payload, one host. Different: h2load sends one
/// payload again and again from memory over one connection; the path seals each payload anew for its
/// installation, commits it, asks whether it may still be sent, sends it and commits the verdict.
struct PathBenchmark: Benchmark {
    static let name = "path"
    static let summary = "publish to APNs 200 against h2load; latency, memory, questions"

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
        try memory(report, "idle", in: world)
        let start = ContinuousClock.now
        let phones = try await BenchPhone.register(options.installations, in: world)
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        report.result(
            "registration",
            value: Double(phones.count) / seconds,
            unit: "installations/s"
        )
        let probe = try await LatencyProbe.start(number: options.installations, in: world)
        report.result(
            "disk.sync",
            value: try BenchDirectory.syncMilliseconds(in: world.directory),
            unit: "ms"
        )
        report.result("latency.idle", try await probe.measure(200, pause: .zero))
        var events = BenchEvents()
        let rate = try await speed(report, phones, &events, in: world)
        try await halfLoad(report, probe, rate, &events, in: world)
        await probe.stop()
        let questions = Questions(world: world)
        for (name, value) in try await questions.measure() {
            report.result(
                name,
                value: value,
                unit: "records/s",
                reference: rate,
                ratio: value / rate,
                against: "path"
            )
        }
        try memory(report, "loaded", in: world)
    }

    private func memory(_ report: BenchReport, _ state: String, in world: BenchWorld) throws {
        for name in BenchWorld.processes {
            guard let pid = world.processIDs[name] else { continue }
            let value = try ProcessFigures.memoryMiB(pid)
            report.result("memory.\(name).\(state)", value: value, unit: "MiB")
        }
    }

    // MARK: Speed

    /// Reports the path's speed and returns its deliveries a second.
    private func speed(
        _ report: BenchReport,
        _ phones: [BenchPhone],
        _ events: inout BenchEvents,
        in world: BenchWorld
    ) async throws -> Double {
        // The first event warms up and gives h2load its payload.
        _ = try await deliver(1, &events, in: world)
        let payload = try await world.simulator.lastPayload(of: phones[phones.count - 1].token)
        let folder = try BenchFolder(body: payload)
        let h2load = try H2Load(options, folder)
        let token = try world.simulator.credentials.providerToken()
        let count = (options.deliveries + phones.count - 1) / phones.count
        report.note(
            "\(phones.count) installations, \(count) alerts a round, payload \(payload.count) "
                + "bytes, medians of \(options.rounds) interleaved rounds"
        )
        var ours: [PathFigure] = []
        var theirs: [H2Figure] = []
        var inserts: [Double] = []
        for _ in 0..<options.rounds {
            theirs.append(try h2load.run(port: world.simulator.sandboxPort, token: token))
            ours.append(try await deliver(count, &events, in: world))
            inserts.append(try await InsertRate.measure(rows: 51_200, bodyBytes: payload.count))
        }
        let rate = BenchReport.median(ours.map(\.rate))
        let rounds = ours.map { BenchReport.text($0.rate) }.joined(separator: " ")
        report.note("path.sqlite: ours \(rounds), h2load \(theirs.line)")
        report.result(
            "path.sqlite",
            value: rate,
            unit: "deliveries/s",
            reference: theirs.rate,
            ratio: rate / theirs.rate,
            against: "h2load"
        )
        let insert = BenchReport.median(inserts)
        report.result(
            "path.insert",
            value: insert,
            unit: "rows/s",
            reference: theirs.rate,
            ratio: insert / theirs.rate,
            against: "h2load"
        )
        for name in BenchWorld.processes {
            let cpu = BenchReport.median(ours.map { $0.cpuMicroseconds[name] ?? 0 })
            report.result("path.cpu.\(name)", value: cpu, unit: "us/delivery")
        }
        return rate
    }

    private struct PathFigure {
        var rate: Double
        var cpuMicroseconds: [String: Double]
    }

    /// Publishes alerts and waits for the last 200 and for the last commit.
    private func deliver(
        _ count: Int,
        _ events: inout BenchEvents,
        in world: BenchWorld
    ) async throws -> PathFigure {
        var batch: [JSONValue] = []
        for _ in 0..<count { batch.append(try events.alert()) }
        let deliveries = count * options.installations
        let before = try await world.simulator.accepted()
        let cpuBefore = try cpu(world)
        let start = ContinuousClock.now
        for first in stride(from: 0, to: count, by: 100) {
            try await world.publish(Array(batch[first..<min(first + 100, count)]))
        }
        try await world.simulator.wait(forAccepted: before + deliveries)
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        try await world.waitUntilSettled()
        let used = try cpu(world).merging(cpuBefore) { $0 - $1 }
        return PathFigure(
            rate: Double(deliveries) / seconds,
            cpuMicroseconds: used.mapValues { $0 / Double(deliveries) * 1_000_000 }
        )
    }

    private func cpu(_ world: BenchWorld) throws -> [String: Double] {
        try world.processIDs.mapValues { try ProcessFigures.cpuSeconds($0) }
    }

    // MARK: Half load

    /// Alerts to everybody at half the measured rate, while single tests are timed.
    private func halfLoad(
        _ report: BenchReport,
        _ probe: LatencyProbe,
        _ rate: Double,
        _ events: inout BenchEvents,
        in world: BenchWorld
    ) async throws {
        let interval = Duration.seconds(Double(options.installations) / (rate / 2))
        let alerts = try (0..<1_000).map { _ in try events.alert() }
        let load = Task {
            for alert in alerts where !Task.isCancelled {
                let next = ContinuousClock.now + interval
                try await world.publish([alert])
                try? await Task.sleep(until: next)
            }
        }
        let latencies = try await probe.measure(200, pause: .milliseconds(20))
        load.cancel()
        _ = try? await load.value
        try await world.waitUntilSettled()
        report.result("latency.half_load", latencies)
    }
}

extension BenchWorld {
    /// Returns once no event is on its way and no row of the outbox waits.
    func waitUntilSettled() async throws {
        for _ in 0..<6_000 {
            let status = try await ask(.delivery, OutboxStatus())
            if status.states.allSatisfy({ $0.state.isTerminal || $0.rows == 0 }) { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw BenchFailure("the outbox did not become empty")
    }
}

extension BenchReport {
    /// Median and 99th percentile of times in milliseconds.
    func result(_ name: String, _ milliseconds: [Double]) {
        let sorted = milliseconds.sorted()
        guard !sorted.isEmpty else { return }
        for percent in [50, 99] {
            let value = sorted[min(sorted.count - 1, sorted.count * percent / 100)]
            result("\(name).p\(percent)", value: value, unit: "ms")
        }
    }
}
