import ServiceKit
import Testing

@Suite
struct MetricsTests {
    @Test("What is counted is rendered as Prometheus text")
    func render() {
        let metrics = Metrics()
        metrics.counter("b_total", help: "Second", labels: ["k": "a\"b\\c\nd"]).add(3)
        metrics.counter("b_total", help: "Second").add()
        metrics.gauge("a", help: "First").set(-4)
        metrics.reading("c", help: "Read") { 9 }
        let histogram = metrics.histogram("h_seconds", help: "Times", buckets: [0.1, 1])
        for value in [0.05, 0.5, 5, .nan] { histogram.observe(value) }
        #expect(
            metrics.render() == """
                # HELP a First
                # TYPE a gauge
                a -4
                # HELP b_total Second
                # TYPE b_total counter
                b_total 1
                b_total{k="a\\"b\\\\c\\nd"} 3
                # HELP c Read
                # TYPE c gauge
                c 9
                # HELP h_seconds Times
                # TYPE h_seconds histogram
                h_seconds_bucket{le="0.1"} 1
                h_seconds_bucket{le="1.0"} 2
                h_seconds_bucket{le="+Inf"} 3
                h_seconds_sum 5.55
                h_seconds_count 3

                """
        )
        #expect(metrics.snapshot()["h_seconds_count"] == 3)
        #expect(metrics.snapshot()["a"] == -4)
    }

    @Test("The same name and labels give the same instrument, and labels are bounded")
    func bounds() {
        let metrics = Metrics()
        for index in 0..<(Metrics.maximumSeries + 50) {
            metrics.counter("n_total", help: "N", labels: ["id": "\(index)"]).add()
        }
        metrics.counter("n_total", help: "N", labels: ["id": "7"]).add()
        let values = metrics.snapshot()
        #expect(values["n_total{id=\"7\"}"] == 2)
        #expect(values["n_total{overflow=\"true\"}"] == 50)
        #expect(values.count == Metrics.maximumSeries + 1)
    }

    @Test("Counters lose nothing between threads")
    func concurrent() async {
        let metrics = Metrics()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1_000 { metrics.counter("n_total", help: "N").add() }
                }
            }
        }
        #expect(metrics.counter("n_total", help: "N").value == 8_000)
    }
}
