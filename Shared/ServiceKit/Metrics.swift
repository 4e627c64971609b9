import Loop

/// The counters, gauges and histograms of a process, rendered as Prometheus text (format 0.0.4).
///
/// Asking again for the same name and labels gives the same instrument, so owners need not share
/// it. Labels must come from closed sets; a family takes `maximumSeries` and folds the rest into
/// one series labelled `overflow="true"`.
package final class Metrics: Sendable {
    /// How many label combinations one name may have.
    package static let maximumSeries = 1_000

    private enum Instrument {
        case counter(Counter)
        case gauge(Gauge)
        case reading(@Sendable () -> Int64)
        case histogram(Histogram)

        var kind: String {
            switch self {
            case .counter: "counter"
            case .gauge, .reading: "gauge"
            case .histogram: "histogram"
            }
        }
    }

    private struct Family {
        var help: String
        var kind: String
        var series: [String: Instrument] = [:]
    }

    private let families = Locked<[String: Family]>([:])

    package init() {}

    /// A number that only grows; the name ends in `_total` by convention.
    package func counter(_ name: String, help: String, labels: [String: String] = [:]) -> Counter {
        let instrument = find(name, help, labels, kind: "counter") { .counter(Counter()) }
        guard case .counter(let counter) = instrument else { return Counter() }
        return counter
    }

    /// A whole number that goes up and down.
    package func gauge(_ name: String, help: String, labels: [String: String] = [:]) -> Gauge {
        let instrument = find(name, help, labels, kind: "gauge") { .gauge(Gauge()) }
        guard case .gauge(let gauge) = instrument else { return Gauge() }
        return gauge
    }

    /// A gauge that is read when it is rendered; the closure must be quick and thread-safe.
    package func reading(
        _ name: String,
        help: String,
        labels: [String: String] = [:],
        _ read: @escaping @Sendable () -> Int64
    ) {
        _ = find(name, help, labels, kind: "gauge") { .reading(read) }
    }

    /// A distribution over buckets given by their ascending upper bounds; +Inf is implied.
    package func histogram(
        _ name: String,
        help: String,
        labels: [String: String] = [:],
        buckets: [Double]
    ) -> Histogram {
        let instrument = find(name, help, labels, kind: "histogram") {
            .histogram(Histogram(buckets: buckets))
        }
        guard case .histogram(let histogram) = instrument else {
            return Histogram(buckets: buckets)
        }
        return histogram
    }

    /// Every current value under `name` or `name{label="value"}`; a histogram gives `_sum` and
    /// `_count`.
    package func snapshot() -> [String: Double] {
        var values: [String: Double] = [:]
        for (name, family) in families.withLock({ $0 }) {
            for (labels, instrument) in family.series {
                let suffix = labels.isEmpty ? "" : "{\(labels)}"
                switch instrument {
                case .counter(let counter): values[name + suffix] = Double(counter.value)
                case .gauge(let gauge): values[name + suffix] = Double(gauge.value)
                case .reading(let read): values[name + suffix] = Double(read())
                case .histogram(let histogram):
                    let reading = histogram.reading
                    values[name + "_sum" + suffix] = reading.sum
                    values[name + "_count" + suffix] = Double(reading.counts.reduce(0, +))
                }
            }
        }
        return values
    }

    /// Everything as Prometheus text, sorted by name and labels.
    package func render() -> String {
        var text = ""
        for (name, family) in families.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            text += "# HELP \(name) \(Self.escape(family.help, quotes: false))\n"
            text += "# TYPE \(name) \(family.kind)\n"
            for (labels, instrument) in family.series.sorted(by: { $0.key < $1.key }) {
                Self.render(name, labels, instrument, into: &text)
            }
        }
        return text
    }

    private static func render(
        _ name: String,
        _ labels: String,
        _ instrument: Instrument,
        into text: inout String
    ) {
        let suffix = labels.isEmpty ? "" : "{\(labels)}"
        switch instrument {
        case .counter(let counter): text += "\(name)\(suffix) \(counter.value)\n"
        case .gauge(let gauge): text += "\(name)\(suffix) \(gauge.value)\n"
        case .reading(let read): text += "\(name)\(suffix) \(read())\n"
        case .histogram(let histogram):
            let reading = histogram.reading
            let prefix = labels.isEmpty ? "" : labels + ","
            var sum: UInt64 = 0
            for (bound, count) in zip(histogram.buckets.map { "\($0)" } + ["+Inf"], reading.counts)
            {
                sum += count
                text += "\(name)_bucket{\(prefix)le=\"\(bound)\"} \(sum)\n"
            }
            text += "\(name)_sum\(suffix) \(reading.sum)\n"
            text += "\(name)_count\(suffix) \(sum)\n"
        }
    }

    private func find(
        _ name: String,
        _ help: String,
        _ labels: [String: String],
        kind: String,
        make: @Sendable () -> Instrument
    ) -> Instrument {
        precondition(Self.isValid(name), "\(name) is not a metric name")
        return families.withLock { families in
            var family = families[name] ?? Family(help: help, kind: kind)
            precondition(family.kind == kind, "\(name) is already a \(family.kind)")
            var key = Self.key(labels)
            if family.series[key] == nil, family.series.count >= Self.maximumSeries {
                key = "overflow=\"true\""
            }
            if let known = family.series[key] { return known }
            let instrument = make()
            family.series[key] = instrument
            families[name] = family
            return instrument
        }
    }

    private static func key(_ labels: [String: String]) -> String {
        labels.sorted { $0.key < $1.key }
            .map { "\($0.key)=\"\(escape($0.value, quotes: true))\"" }
            .joined(separator: ",")
    }

    private static func escape(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }

    private static func isValid(_ name: String) -> Bool {
        guard let first = name.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9") ~= first) else {
            return false
        }
        return name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: ":"):
                true
            default: false
            }
        }
    }
}
