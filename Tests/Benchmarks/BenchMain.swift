import Glibc

/// Runs benchmarks by name, each interleaved with a reference program on the same host; absolute
/// figures of one run mean little, ratios are what counts.
@main
enum BenchMain {
    /// Every benchmark; a new one is a type of its own and a line here.
    static let all: [any Benchmark.Type] = [
        RelayBenchmark.self, PathBenchmark.self, LatencyBenchmark.self, StartBenchmark.self,
        FanoutBenchmark.self, StoreBenchmark.self,
    ]

    static func main() async {
        do {
            let options = try BenchOptions(Array(CommandLine.arguments.dropFirst()))
            guard !options.wantsHelp else {
                print(BenchOptions.help(all))
                return
            }
            let chosen = options.names.isEmpty ? all.map { $0.name } : options.names
            let report = BenchReport(asJSON: options.asJSON)
            for name in chosen {
                guard let type = all.first(where: { $0.name == name }) else {
                    throw BenchFailure("no benchmark \(name)\n\(BenchOptions.help(all))")
                }
                try await type.init(options).run(report)
            }
        } catch {
            let bytes = Array("pushbus-bench: \(error)\n".utf8)
            _ = write(2, bytes, bytes.count)
            fflush(nil)
            exit(1)
        }
    }
}
