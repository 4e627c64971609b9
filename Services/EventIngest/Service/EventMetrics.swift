import Contracts
import EventIngestCore
import ServiceKit

/// What EventIngest counts; every state an event can reach has a counter.
package struct EventMetrics: Sendable {
    private let metrics: Metrics

    package init(_ metrics: Metrics) { self.metrics = metrics }

    /// One answer to one published event.
    func answered(_ status: PublishStatus) {
        metrics.counter(
            "pushbus_eventingest_published_total",
            help: "Published events by answer.",
            labels: ["status": status.rawValue]
        ).add()
    }

    /// An event that a principal may not publish; it is answered as invalid too.
    func refused() {
        metrics.counter(
            "pushbus_eventingest_refused_total",
            help: "Published events of a source or type their principal may not publish."
        ).add()
    }

    func recorded(_ verdict: Verdict) {
        metrics.counter(
            "pushbus_eventingest_recorded_total",
            help: "Events recorded under a new source and id, by verdict.",
            labels: ["verdict": verdict.rawValue]
        ).add()
    }

    func resolved(_ events: ResolvedEvents) {
        for (verdict, count) in [
            (Verdict.admitted, events.admitted), (.suppressed, events.suppressed),
        ] where count > 0 {
            metrics.counter(
                "pushbus_eventingest_resolved_total",
                help: "Unresolved events by what was decided in the end.",
                labels: ["verdict": verdict.rawValue]
            ).add(UInt64(count))
        }
    }

    func settled(_ count: Int) {
        metrics.counter(
            "pushbus_eventingest_settled_total",
            help: "Events that got their watermark."
        ).add(UInt64(count))
    }

    func handed(_ result: StaticString) {
        metrics.counter(
            "pushbus_eventingest_handoffs_total",
            help: "Attempts to hand an event to a Fanout, by result.",
            labels: ["result": "\(result)"]
        ).add()
    }

    func reported(_ recorded: RecordedProgress) {
        let reception =
            switch recorded.reception {
            case .committed: "committed"
            case .stale: "stale"
            case .ended: "ended"
            }
        metrics.counter(
            "pushbus_eventingest_progress_total",
            help: "Reports of Fanouts by what became of them.",
            labels: ["reception": reception]
        ).add()
        if recorded.isCompletion { ended(.fannedOut, 1) }
    }

    func ended(_ state: EventState, _ count: Int) {
        metrics.counter(
            "pushbus_eventingest_ended_total",
            help: "Admitted events that ended, by how.",
            labels: ["state": state.rawValue]
        ).add(UInt64(count))
    }

    func purged(_ count: Int) {
        metrics.counter(
            "pushbus_eventingest_purged_total",
            help: "Records deleted because they had been kept long enough."
        ).add(UInt64(count))
    }

    func failed(_ activity: StaticString) {
        metrics.counter(
            "pushbus_eventingest_failures_total",
            help: "Activities that failed and are tried again.",
            labels: ["activity": "\(activity)"]
        ).add()
    }

    func backlog(_ backlog: EventBacklog, now: UnixSeconds) {
        metrics.gauge(
            "pushbus_eventingest_open",
            help: "Events admitted and not yet fanned out."
        ).set(Int64(backlog.open))
        metrics.gauge(
            "pushbus_eventingest_oldest_seconds",
            help: "Age of the oldest open event."
        ).set(backlog.oldest.map { max(0, now.seconds - $0.seconds) } ?? 0)
    }
}
