import ServiceKit

/// What the metrics of a sandbox pool say.
protocol PoolObserver: Sendable {
    var metrics: Metrics { get }
}

extension PoolObserver {
    /// An alarm by its reason.
    func alarms(_ reason: String) -> Double {
        let name =
            #"pushbus_relay_alarms_total{environment="sandbox",reason="\#(reason)"}"#
        return metrics.snapshot()[name] ?? 0
    }

    /// Whether the breaker of a scope shows as open.
    func isOpen(_ scope: String) -> Bool {
        let name = #"pushbus_relay_breaker_open{environment="sandbox",scope="\#(scope)"}"#
        return metrics.snapshot()[name] == 1
    }

    /// A counter by the name of an event between the pool and APNs.
    func count(_ event: String) -> Double {
        let name =
            #"pushbus_relay_transport_total{environment="sandbox",event="\#(event)"}"#
        return metrics.snapshot()[name] ?? -1
    }
}
