import Contracts
import Loop
import RelayCore
import ServiceKit

/// The counters of one environment.
final class PoolMetrics: Sendable {
    private let metrics: Metrics
    private let environment: String
    private let verdicts = Locked([VerdictKey: Counter]())
    let queued: Gauge
    let inFlight: Gauge
    let connections: Gauge
    let seconds: Histogram

    init(_ metrics: Metrics, environment: APNsEnvironment) {
        self.metrics = metrics
        self.environment = environment.rawValue
        let labels = ["environment": environment.rawValue]
        queued = metrics.gauge(
            "pushbus_relay_queued",
            help: "Messages that wait for a stream",
            labels: labels
        )
        inFlight = metrics.gauge(
            "pushbus_relay_in_flight",
            help: "Messages that APNs is answering",
            labels: labels
        )
        connections = metrics.gauge(
            "pushbus_relay_connections",
            help: "Open connections to APNs",
            labels: labels
        )
        seconds = metrics.histogram(
            "pushbus_relay_apns_seconds",
            help: "Time from acceptance by the relay to the verdict",
            labels: labels,
            buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
        )
        for event in Event.allCases { counter(event).add(0) }
    }

    enum Event: String, CaseIterable {
        case connected, connectFailed = "connect_failed", goAway = "go_away", lost
        case refused, ambiguous, retriedServer = "retried_server", renewedToken = "renewed_token"
        case signed, clockStep = "clock_step", silent, held
    }

    func count(_ event: Event) { counter(event).add() }

    private func counter(_ event: Event) -> Counter {
        metrics.counter(
            "pushbus_relay_transport_total",
            help: "What happened between this relay and APNs",
            labels: ["environment": environment, "event": event.rawValue]
        )
    }

    private struct VerdictKey: Hashable {
        let outcome: Outcome
        let reason: String
    }

    /// Counts a verdict; reasons that the table does not know share one label.
    func count(_ verdict: RelayVerdict) {
        let isKnown =
            ProviderRule.isKnown(verdict.reason) || verdict.reason == verdict.publicReason
        let key = VerdictKey(
            outcome: verdict.outcome,
            reason: isKnown ? verdict.reason : "other"
        )
        // Looking a counter up by its labels costs more than a message should.
        if let counter = verdicts.withLock({ $0[key] }) {
            counter.add()
            return
        }
        let counter = metrics.counter(
            "pushbus_relay_verdicts_total",
            help: "Verdicts by outcome and reason",
            labels: [
                "environment": environment, "outcome": key.outcome.rawValue, "reason": key.reason,
            ]
        )
        verdicts.withLock { $0[key] = counter }
        counter.add()
    }

    private static let ownAlarms: Set = [certificateNotTrusted, "RelayNotConfigured"]
    /// What the breaker says when APNs, or who answers in its place, shows the wrong certificate.
    static let certificateNotTrusted = "CertificateNotTrusted"

    /// Counts what asks for people.
    func alarm(_ reason: String) {
        metrics.counter(
            "pushbus_relay_alarms_total",
            help: "Answers of APNs that the operator must act on",
            labels: [
                "environment": environment,
                "reason": ProviderRule.isKnown(reason) || Self.ownAlarms.contains(reason)
                    ? reason : "other",
            ]
        ).add()
    }

    /// Shows whether a breaker is open.
    func breaker(_ scope: String, isOpen: Bool) {
        metrics.gauge(
            "pushbus_relay_breaker_open",
            help: "1 while messages are held back because of the provider's answers",
            labels: ["environment": environment, "scope": scope]
        ).set(isOpen ? 1 : 0)
    }
}
