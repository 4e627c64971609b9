import FoundationEssentials
import Glibc
import HTTP2
import PushBusCrypto
import TLS

/// Our HTTP/2 client against h2load on the same server, and the APNs simulator against nghttpd
/// under the same load.
///
/// Equal on both sides: one connection, the streams, a body of 1400 bytes, path and header fields.
/// Different: our client verifies the certificate, and the simulator checks the requests and keeps
/// what it accepted, while nghttpd sends a small file.
struct HTTP2Benchmark: Benchmark {
    static let name = "http2"
    static let summary = "client against h2load, simulator against nghttpd"

    private let options: BenchOptions

    init(_ options: BenchOptions) { self.options = options }

    func run(_ report: BenchReport) async throws {
        let folder = try BenchFolder()
        let h2load = try H2Load(options, folder)
        report.note(
            "one connection, \(options.streams) streams, \(options.requests) requests a round, "
                + "1400-byte bodies, medians of \(options.rounds) interleaved rounds"
        )
        try await compareClients(
            "http2.client",
            NGHTTPD.narrow,
            "nghttpd -m1000",
            folder,
            h2load,
            report
        )
        try await compareClients(
            "http2.client_wide",
            NGHTTPD.wide,
            "nghttpd -m1000 -w20 -W24",
            folder,
            h2load,
            report
        )
        try compareServers(folder, h2load, report)
    }

    private func compareClients(
        _ name: String,
        _ windows: [String],
        _ server: String,
        _ folder: BenchFolder,
        _ h2load: H2Load,
        _ report: BenchReport
    ) async throws {
        let nghttpd = try NGHTTPD(folder, windows)
        defer { nghttpd.stop() }
        let client = try await ClientLoad(options, folder, port: nghttpd.port)
        var ours: [H2Figure] = []
        var theirs: [H2Figure] = []
        for _ in 0..<options.rounds {
            theirs.append(try h2load.run(port: nghttpd.port))
            ours.append(try await client.run())
        }
        await client.stop()
        report.note("\(name), \(server): ours \(ours.line), h2load \(theirs.line)")
        report.comparison(name, ours, theirs, against: "h2load")
    }

    private func compareServers(
        _ folder: BenchFolder,
        _ h2load: H2Load,
        _ report: BenchReport
    ) throws {
        for (name, windows, variables) in [
            ("http2.simulator", NGHTTPD.narrow, [:]),
            (
                "http2.simulator_wide", ["-w", "20", "-W", "22"],
                [
                    "PUSHBUS_SIMULATOR_STREAM_WINDOW": "1048575",
                    "PUSHBUS_SIMULATOR_CONNECTION_WINDOW": "4194303",
                ]
            ),
        ] {
            let nghttpd = try NGHTTPD(folder, windows)
            let simulator = try SimulatorProcess(folder, variables)
            defer {
                nghttpd.stop()
                simulator.stop()
            }
            var ours: [H2Figure] = []
            var theirs: [H2Figure] = []
            for _ in 0..<options.rounds {
                theirs.append(try h2load.run(port: nghttpd.port))
                ours.append(try h2load.run(port: simulator.port, token: simulator.providerToken))
            }
            report.note("\(name): simulator \(ours.line), nghttpd \(theirs.line)")
            report.result(
                name,
                value: ours.rate,
                unit: "requests/s",
                reference: theirs.rate,
                ratio: ours.rate / theirs.rate,
                against: "nghttpd"
            )
        }
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
    /// Rate and CPU time of a client next to its reference.
    func comparison(_ name: String, _ ours: [H2Figure], _ theirs: [H2Figure], against: String) {
        result(
            name,
            value: ours.rate,
            unit: "requests/s",
            reference: theirs.rate,
            ratio: ours.rate / theirs.rate,
            against: against
        )
        result(
            "\(name).cpu",
            value: ours.cpu,
            unit: "us/request",
            reference: theirs.cpu,
            ratio: ours.cpu / theirs.cpu,
            against: against
        )
    }
}
