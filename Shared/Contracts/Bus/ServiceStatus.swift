/// `service.status.v1`: every service answers it, for `pushbus status`.
package struct ServiceStatus: BusRequest, Hashable {
    package typealias Answer = ServiceStatusAnswer
    package static let type = "service.status.v1"
    package init() {}
}

package struct ServiceStatusAnswer: BusMessage, Hashable {
    package static let type = "service.status.answer.v1"
    package var service: String
    package var version: String
    package var processID: Int64
    /// Whether it does its work; `conditions` says what is missing.
    package var ready: Bool
    /// Reasons by condition; a condition that holds has an empty reason.
    package var conditions: [String: String]
    /// Counters and gauges by name (labels included), as the metrics page shows them.
    package var metrics: [String: Double]

    /// Delivery's metric for the Unix second at which a relay said last that it has no credentials; 0
    /// when its last word was another.
    package static let relayNotConfiguredMetric = "pushbus_delivery_relay_not_configured_seconds"

    package init(
        service: String,
        version: String,
        processID: Int64,
        ready: Bool,
        conditions: [String: String],
        metrics: [String: Double]
    ) {
        self.service = service
        self.version = version
        self.processID = processID
        self.ready = ready
        self.conditions = conditions
        self.metrics = metrics
    }

    enum CodingKeys: String, CodingKey {
        case service
        case version
        case processID = "process_id"
        case ready
        case conditions
        case metrics
    }
}
