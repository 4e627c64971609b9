import Contracts
import ServiceKit

/// The counters of one server.
struct BusServerMetrics: Sendable {
    let received: Counter
    let answered: Counter
    let inFlight: Gauge
    let unreachable: Counter
    let full: Counter
    private let rejected: [RejectCode: Counter]

    init(_ metrics: Metrics, server: String) {
        let labels = ["server": server]
        received = metrics.counter(
            "pushbus_bus_received_total",
            help: "Messages read from the bus",
            labels: labels
        )
        answered = metrics.counter(
            "pushbus_bus_answered_total",
            help: "Answers given to the bus",
            labels: labels
        )
        inFlight = metrics.gauge(
            "pushbus_bus_in_flight",
            help: "Requests being worked on",
            labels: labels
        )
        func dropped(_ reason: String) -> Counter {
            metrics.counter(
                "pushbus_bus_answers_dropped_total",
                help: "Answers that could not be handed to the peer",
                labels: ["server": server, "reason": reason]
            )
        }
        unreachable = dropped("unreachable")
        full = dropped("full")
        let codes: [RejectCode] = [
            .unsupportedVersion, .unsupportedType, .malformed, .tooLarge, .notPermitted,
            .retryAfter, .failed,
        ]
        rejected = Dictionary(
            uniqueKeysWithValues: codes.map { code in
                let counter = metrics.counter(
                    "pushbus_bus_rejected_total",
                    help: "Requests answered with a rejection",
                    labels: ["server": server, "code": code.rawValue]
                )
                return (code, counter)
            }
        )
    }

    func countRejection(_ code: RejectCode) { rejected[code]?.add() }
}
