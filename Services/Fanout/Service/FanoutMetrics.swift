import FanoutCore
import ServiceKit

/// The counters of Fanout.
struct FanoutMetrics: Sendable {
    let refused: Counter
    let repeated: Counter
    let running: Gauge
    let pages: Counter
    let written: Counter
    let unsealable: Counter
    private let endings: [FanoutCourse.Ending: Counter]
    private let metrics: Metrics

    init(_ metrics: Metrics) {
        self.metrics = metrics
        refused = metrics.counter(
            "pushbus_fanout_refused_total",
            help: "Events not taken because enough are being worked on"
        )
        repeated = metrics.counter(
            "pushbus_fanout_repeated_total",
            help: "Events handed out again while they are being worked on"
        )
        running = metrics.gauge("pushbus_fanout_events", help: "Events being worked on")
        pages = metrics.counter("pushbus_fanout_pages_total", help: "Audience pages sealed")
        written = metrics.counter(
            "pushbus_fanout_written_total",
            help: "Rows that Delivery has committed, repeats included"
        )
        unsealable = metrics.counter(
            "pushbus_fanout_unsealable_total",
            help: "Recipients that could not be sealed"
        )
        endings = Dictionary(
            uniqueKeysWithValues: FanoutCourse.Ending.allCases.map { ending in
                let counter = metrics.counter(
                    "pushbus_fanout_events_total",
                    help: "Events by how their course ended here",
                    labels: ["ending": ending.rawValue]
                )
                return (ending, counter)
            }
        )
    }

    func count(_ ending: FanoutCourse.Ending) { endings[ending]?.add() }

    func count(skipped: [String: Int64]) {
        for (reason, count) in skipped where count > 0 {
            metrics.counter(
                "pushbus_fanout_skipped_total",
                help: "Installations left out, by Registration's reason",
                labels: ["reason": reason]
            ).add(UInt64(count))
        }
    }
}
