import ServiceKit

/// The counters of one client.
struct BusClientMetrics: Sendable {
    let sent: Counter
    let resent: Counter
    let timeouts: Counter
    let late: Counter
    let malformed: Counter
    let waiting: Gauge
    let connected: Gauge

    init(_ metrics: Metrics, client: String) {
        let labels = ["client": client]
        func counter(_ name: String, _ help: String) -> Counter {
            metrics.counter("pushbus_bus_client_\(name)_total", help: help, labels: labels)
        }
        sent = counter("sent", "Requests handed to libzmq, resends included")
        resent = counter("resent", "Requests sent again under the same id")
        timeouts = counter("timeouts", "Requests without an answer in time")
        late = counter("late_answers", "Answers nobody waited for any more")
        malformed = counter("malformed_answers", "Answers that could not be read")
        waiting = metrics.gauge(
            "pushbus_bus_client_waiting",
            help: "Requests waiting for an open window",
            labels: labels
        )
        connected = metrics.gauge(
            "pushbus_bus_client_connected_peers",
            help: "Peers with a completed handshake",
            labels: labels
        )
    }
}
