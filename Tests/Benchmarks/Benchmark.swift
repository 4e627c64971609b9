import FoundationEssentials

/// One family of measurements.
protocol Benchmark: Sendable {
    static var name: String { get }
    /// One line for `--help`.
    static var summary: String { get }
    init(_ options: BenchOptions)
    func run(_ report: BenchReport) async throws
}

/// Why a benchmark could not be run.
struct BenchFailure: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}

/// What the command line asked for.
struct BenchOptions: Sendable {
    var names: [String] = []
    var asJSON = false
    var wantsHelp = false
    /// Interleaved rounds of each cell; medians are reported.
    var rounds = 5
    var requests = 60_000
    /// Concurrent streams of one connection.
    var streams = 500
    /// Phones of the whole path.
    var installations = 100_000
    /// Installations that one alert goes to.
    var audience = 100_000
    /// Deliveries of one round of the whole path, at least.
    var deliveries = 200_000
    /// Rows that wait when Delivery starts.
    var pending = 1_000_000

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        func number(_ option: String, _ range: ClosedRange<Int>) throws -> Int {
            guard let text = rest.popFirst(), let value = Int(text), range.contains(value) else {
                throw BenchFailure(
                    "\(option) needs a number from \(range.lowerBound) to \(range.upperBound)"
                )
            }
            return value
        }
        while let argument = rest.popFirst() {
            switch argument {
            case "--json": asJSON = true
            case "--help", "-h": wantsHelp = true
            case "--rounds": rounds = try number(argument, 1...99)
            case "--requests": requests = try number(argument, 1_000...10_000_000)
            case "--streams": streams = try number(argument, 1...1_000)
            case "--installations": installations = try number(argument, 1...1_000_000)
            case "--audience": audience = try number(argument, 1...1_000_000)
            case "--deliveries": deliveries = try number(argument, 1...100_000_000)
            case "--pending": pending = try number(argument, 1_000...10_000_000)
            case _ where argument.hasPrefix("-"): throw BenchFailure("unknown option \(argument)")
            default: names.append(argument)
            }
        }
    }

    static func help(_ all: [any Benchmark.Type]) -> String {
        """
        usage: pushbus-bench [name…] [--json] [--rounds N] [--requests N] [--streams N]
            [--installations N] [--deliveries N] [--pending N] [--audience N]
        Build it with `swift build -c release`. Without a name all are run:
        \(all.map { "  \($0.name): \($0.summary)" }.joined(separator: "\n"))
        """
    }
}
