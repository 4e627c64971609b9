import Contracts
import FoundationEssentials
import Topology

/// The whole path with real processes: publish on the bus, five services, durable, APNs' 200 from
/// the simulator. Speed is compared with h2load against the same simulator in the same run.
///
/// Equal on both sides: simulator, header fields, payload, one host. Different: h2load sends one
/// payload again and again from memory over one connection; the path seals each payload anew for its
/// installation, commits it, asks whether it may still be sent, sends it and commits the verdict.
/// The same then with all stores in a PostgreSQL server of its own, with fsync as in production.
struct PathBenchmark: Benchmark {
    static let name = "path"
    static let summary = "publish to APNs 200 against h2load; latency in a burst, memory, questions"

    private let options: BenchOptions

    init(_ options: BenchOptions) { self.options = options }

    func run(_ report: BenchReport) async throws {
        try await BenchWorld.onBothStores { world, prefix in
            guard prefix.isEmpty else {
                let phones = try await BenchPhone.register(options.installations, in: world)
                let load = PathLoad(world: world, installations: options.installations)
                let rate = try await speed(report, "path.postgresql", phones, load)
                return try await questions(report, prefix, rate, in: world)
            }
            try await run(report, in: world)
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
        let load = PathLoad(world: world, installations: options.installations)
        let rate = try await speed(report, "path.sqlite", phones, load)
        report.result("latency.burst", try await load.measure(probe, beside: rate / 2))
        await probe.stop()
        try await questions(report, "", rate, in: world)
        try memory(report, "loaded", in: world)
    }

    private func questions(
        _ report: BenchReport,
        _ prefix: String,
        _ rate: Double,
        in world: BenchWorld
    ) async throws {
        for (name, value) in try await Questions(world: world).measure() {
            report.result(
                prefix + name,
                value: value,
                unit: "records/s",
                reference: rate,
                ratio: value / rate,
                against: "path",
                bar: .atLeast(3)
            )
        }
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
        _ name: String,
        _ phones: [BenchPhone],
        _ load: PathLoad
    ) async throws -> Double {
        let world = load.world
        // The first event warms up and gives h2load its payload.
        _ = try await load.deliver(1)
        let payload = try await world.simulator.lastPayload(of: phones[phones.count - 1].token)
        let folder = try BenchFolder(body: payload)
        let h2load = try H2Load(options, folder)
        let token = try world.simulator.credentials.providerToken()
        let count = (options.deliveries + phones.count - 1) / phones.count
        report.note(
            "\(phones.count) installations, \(count) alerts a round, payload \(payload.count) "
                + "bytes, medians of \(options.rounds) interleaved rounds"
        )
        var ours: [PathLoad.Figure] = []
        var theirs: [H2Figure] = []
        var inserts: [Double] = []
        for _ in 0..<options.rounds {
            theirs.append(
                try h2load.run(
                    BenchTarget(
                        port: world.simulator.sandboxPort,
                        authorityFile: "\(world.directory)/apns/ca.pem",
                        token: token
                    )
                )
            )
            ours.append(try await load.deliver(count))
            guard name == "path.sqlite" else { continue }
            inserts.append(try await InsertRate.measure(rows: 51_200, bodyBytes: payload.count))
        }
        let rate = BenchReport.median(ours.map(\.rate))
        let rounds = ours.map { BenchReport.text($0.rate) }.joined(separator: " ")
        report.note("\(name): ours \(rounds), h2load \(theirs.line)")
        report.result(
            name,
            value: rate,
            unit: "deliveries/s",
            reference: theirs.rate,
            ratio: rate / theirs.rate,
            against: "h2load",
            bar: .atLeast(name == "path.sqlite" ? 0.25 : 0.1)
        )
        guard name == "path.sqlite" else {
            cpu(report, name, ours)
            return rate
        }
        let insert = BenchReport.median(inserts)
        report.result(
            "path.insert",
            value: insert,
            unit: "rows/s",
            reference: theirs.rate,
            ratio: insert / theirs.rate,
            against: "h2load"
        )
        cpu(report, "path", ours)
        return rate
    }

    private func cpu(_ report: BenchReport, _ name: String, _ figures: [PathLoad.Figure]) {
        for process in BenchWorld.processes {
            let cpu = BenchReport.median(figures.map { $0.cpuMicroseconds[process] ?? 0 })
            report.result("\(name).cpu.\(process)", value: cpu, unit: "us/delivery")
        }
    }
}

extension BenchReport {
    /// Median and 99th percentile of times in milliseconds; the second once more under the plain name,
    /// which is the one with a limit.
    func result(
        _ name: String,
        _ milliseconds: [Double],
        medianLimit: Double? = nil,
        limit: Double? = nil
    ) {
        let sorted = milliseconds.sorted()
        guard !sorted.isEmpty else { return }
        for percent in [50, 99] {
            let value = sorted[min(sorted.count - 1, sorted.count * percent / 100)]
            result(
                "\(name).p\(percent)",
                value: value,
                unit: "ms",
                limit: percent == 50 ? medianLimit : nil
            )
            guard percent == 99 else { continue }
            result(name, value: value, unit: "ms", limit: limit)
        }
    }

    /// A value that has a limit of its own instead of a reference.
    func result(_ name: String, value: Double, unit: String, limit: Double?) {
        result(
            name,
            value: value,
            unit: unit,
            reference: limit,
            ratio: limit.map { value / $0 },
            against: "limit",
            bar: .atMost(1)
        )
    }
}
