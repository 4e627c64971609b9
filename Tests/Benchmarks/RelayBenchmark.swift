import FoundationEssentials

/// What the Relay stands on: our HTTP/2 client against h2load and libcurl, the APNs simulator
/// against nghttpd, the growth with connections when answers take 50 ms, and the Relay's memory.
///
/// Equal on both sides: connections, streams, a body of 1400 bytes, path and header fields, of which
/// our client, like h2load, has all prepared that do not differ. Different: our client verifies the
/// certificate and h2load does not, h2load reads the body from a file each time, and the simulator
/// checks token, fields and payload of the requests, while nghttpd sends an empty file. Like nghttpd
/// it keeps nothing of what it got; with its usual 10000 kept notifications it is "keeping".
struct RelayBenchmark: Benchmark {
    static let name = "relay"
    static let summary = "client against h2load and libcurl, simulator against nghttpd, memory"

    private let options: BenchOptions

    init(_ options: BenchOptions) { self.options = options }

    func run(_ report: BenchReport) async throws {
        let folder = try BenchFolder()
        report.note(
            "one connection, \(options.streams) streams, \(options.requests) requests a round, "
                + "1400-byte bodies, medians of \(options.rounds) interleaved rounds"
        )
        for windows in [BenchWindows.narrow, .wide] {
            try await compareClients(windows, folder, report)
            try await compareClientsOnNGHTTPD(windows, folder, report)
            try compareServers(windows, folder, report)
        }
        try await growth(folder, report)
        try await RelayMemory(options).run(folder, report)
    }

    // MARK: Clients

    /// All three clients against the simulator.
    private func compareClients(
        _ windows: BenchWindows,
        _ folder: BenchFolder,
        _ report: BenchReport
    ) async throws {
        let simulator = try SimulatorProcess(folder, windows)
        defer { simulator.stop() }
        let client = try await ClientLoad(options, simulator.target)
        let h2load = try H2Load(options, folder)
        let curl = CurlMulti(options, folder)
        var figures = (ours: [H2Figure](), h2load: [H2Figure](), curl: [H2Figure]())
        for _ in 0..<options.rounds {
            figures.h2load.append(try h2load.run(simulator.target))
            figures.ours.append(try await client.run())
            figures.curl.append(try curl.run(simulator.target))
        }
        await client.stop()
        let suffix = windows.suffix
        report.note(
            "simulator, \(windows.text): ours \(figures.ours.line), h2load"
                + " \(figures.h2load.line), libcurl \(figures.curl.line)"
        )
        report.comparison("http2.client\(suffix)", figures.ours, figures.h2load, against: "h2load")
        report.result(
            "http2.libcurl\(suffix)",
            value: figures.ours.rate,
            unit: "requests/s",
            reference: figures.curl.rate,
            ratio: figures.ours.rate / figures.curl.rate,
            against: "libcurl",
            bar: .atLeast(5)
        )
        report.note(
            "CPU of libcurl: \(BenchReport.text(figures.curl.cpu)) us a request"
        )
    }

    /// The same against a server that does less, so that the client is what limits.
    private func compareClientsOnNGHTTPD(
        _ windows: BenchWindows,
        _ folder: BenchFolder,
        _ report: BenchReport
    ) async throws {
        let nghttpd = try NGHTTPD(folder, windows)
        defer { nghttpd.stop() }
        let client = try await ClientLoad(options, nghttpd.target)
        let h2load = try H2Load(options, folder)
        var ours: [H2Figure] = []
        var theirs: [H2Figure] = []
        for _ in 0..<options.rounds {
            theirs.append(try h2load.run(nghttpd.target))
            ours.append(try await client.run())
        }
        await client.stop()
        report.note("nghttpd, \(windows.text): ours \(ours.line), h2load \(theirs.line)")
        report.comparison(
            "http2.client_nghttpd\(windows.suffix)",
            ours,
            theirs,
            against: "h2load"
        )
    }

    // MARK: Servers

    private func compareServers(
        _ windows: BenchWindows,
        _ folder: BenchFolder,
        _ report: BenchReport
    ) throws {
        let nghttpd = try NGHTTPD(folder, windows)
        let simulator = try SimulatorProcess(folder, windows, keep: 0)
        let keeping = try SimulatorProcess(folder, windows)
        defer {
            nghttpd.stop()
            simulator.stop()
            keeping.stop()
        }
        let h2load = try H2Load(options, folder)
        var figures = (ours: [H2Figure](), keeping: [H2Figure](), nghttpd: [H2Figure]())
        for _ in 0..<options.rounds {
            figures.nghttpd.append(try h2load.run(nghttpd.target))
            figures.ours.append(try h2load.run(simulator.target))
            figures.keeping.append(try h2load.run(keeping.target))
        }
        let theirs = figures.nghttpd
        report.note(
            "h2load, \(windows.text): simulator \(figures.ours.line), keeping"
                + " \(figures.keeping.line), nghttpd \(theirs.line)"
        )
        for (name, ours, bar) in [
            ("http2.simulator", figures.ours, BenchReport.Bar.atLeast(0.9)),
            ("http2.simulator_keeping", figures.keeping, nil),
        ] {
            report.result(
                name + windows.suffix,
                value: ours.rate,
                unit: "requests/s",
                reference: theirs.rate,
                ratio: ours.rate / theirs.rate,
                against: "nghttpd",
                bar: bar
            )
        }
    }

    // MARK: Growth

    /// With 50 ms to each answer a connection of 64 KiB has about 46 bodies under way, whatever the
    /// client: only more connections help.
    private func growth(_ folder: BenchFolder, _ report: BenchReport) async throws {
        let simulator = try SimulatorProcess(folder, .narrow, settings: #"{"delay_ms":50}"#)
        defer { simulator.stop() }
        let rounds = max(1, min(3, options.rounds))
        report.note("answers after 50 ms, 64 KiB windows, 100 streams a connection")
        var single = 0.0
        for connections in [1, 2, 4, 8, 16] {
            var some = options
            some.streams = 100
            some.requests = 2_000 * connections
            let client = try await ClientLoad(some, simulator.target)
            let h2load = try H2Load(some, folder)
            var ours: [H2Figure] = []
            var theirs: [H2Figure] = []
            for _ in 0..<rounds {
                theirs.append(try h2load.run(simulator.target, connections: connections))
                ours.append(try await client.run(connections: connections))
            }
            await client.stop()
            if connections == 1 { single = ours.rate }
            report.result(
                "http2.connections_\(connections)",
                value: ours.rate,
                unit: "requests/s",
                reference: theirs.rate,
                ratio: ours.rate / theirs.rate,
                against: "h2load"
            )
            report.note("  \(BenchReport.text(ours.rate / single, digits: 2)) times one connection")
        }
    }
}

/// Flow-control windows of a server.
enum BenchWindows {
    /// 64 KiB, as APNs was seen to have.
    case narrow
    /// 1 MiB a stream, 16 MiB a connection.
    case wide

    var suffix: String { self == .narrow ? "" : "_wide" }
    var text: String { self == .narrow ? "64 KiB windows" : "windows of 1 MiB and 16 MiB" }
    var nghttpdArguments: [String] { self == .narrow ? [] : ["-w", "20", "-W", "24"] }
    var simulatorVariables: [String: String] {
        guard self == .wide else { return [:] }
        return [
            "PUSHBUS_SIMULATOR_STREAM_WINDOW": "1048575",
            "PUSHBUS_SIMULATOR_CONNECTION_WINDOW": "16777215",
        ]
    }
}

/// One round.
struct H2Figure {
    var requestsPerSecond: Double
    var cpuMicroseconds: Double
}

extension [H2Figure] {
    var rate: Double { BenchReport.median(map(\.requestsPerSecond)) }
    var cpu: Double { BenchReport.median(map(\.cpuMicroseconds)) }
    /// Every round, in thousands a second.
    var line: String {
        map { BenchReport.text($0.requestsPerSecond / 1_000) + "k" }.joined(separator: " ")
    }
}

extension BenchReport {
    /// Rate and CPU time of our client next to its reference.
    func comparison(_ name: String, _ ours: [H2Figure], _ theirs: [H2Figure], against: String) {
        result(
            name,
            value: ours.rate,
            unit: "requests/s",
            reference: theirs.rate,
            ratio: ours.rate / theirs.rate,
            against: against,
            bar: .atLeast(0.9)
        )
        result(
            "\(name).cpu",
            value: ours.cpu,
            unit: "us/request",
            reference: theirs.cpu,
            ratio: ours.cpu / theirs.cpu,
            against: against,
            bar: .atMost(1.3)
        )
    }
}
