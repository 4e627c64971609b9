/// One notification from the call of publish to the simulated phone: on an idle system, and beside a
/// steady load of half the highest rate.
///
/// The load is alerts to a thousand installations, one soon after the other. The path's own benchmark
/// shows the other case, `latency.burst`: the same load in alerts to everybody at once, where a single
/// notification has to overtake thousands.
struct LatencyBenchmark: Benchmark {
    static let name = "latency"
    static let summary = "one notification, idle and beside half the highest load"

    private let options: BenchOptions
    private static let audience = 1_000

    init(_ options: BenchOptions) { self.options = options }

    func run(_ report: BenchReport) async throws {
        try await BenchWorld.onBothStores { world, prefix in
            try await run(report, prefix, in: world)
        }
    }

    private func run(
        _ report: BenchReport,
        _ prefix: String,
        in world: BenchWorld
    ) async throws {
        let audience = min(Self.audience, options.installations)
        _ = try await BenchPhone.register(audience, in: world)
        let probe = try await LatencyProbe.start(number: audience, in: world)
        report.result(
            prefix + "disk.sync",
            value: try BenchDirectory.syncMilliseconds(in: world.directory),
            unit: "ms"
        )
        report.result(
            prefix + "latency.idle",
            try await probe.measure(200, pause: .zero),
            medianLimit: 10,
            limit: 25
        )
        let load = PathLoad(world: world, installations: audience)
        _ = try await load.deliver(1)
        let rate = try await load.deliver((options.deliveries + audience - 1) / audience).rate
        report.note("highest rate \(BenchReport.text(rate)) deliveries/s, half of it as load")
        let times = try await load.measure(probe, beside: rate / 2)
        report.result(prefix + "latency.half_load", times, limit: 100)
        await probe.stop()
    }
}
