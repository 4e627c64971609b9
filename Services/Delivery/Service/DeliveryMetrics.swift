import Contracts
import DeliveryCore
import ServiceKit

/// The counters of Delivery; every state of a row and every outcome without effect has one.
package struct DeliveryMetrics: Sendable {
    /// Something an operator should look at.
    package enum Alarm: String, CaseIterable, Sendable {
        /// The relay refused a message that our own check passed, or its clock differs.
        case relayDisagrees = "relay_disagrees"
        /// A peer's answer does not fit the question.
        case malformedAnswer = "malformed_answer"
    }

    package let accepted: Counter
    package let duplicate: Counter
    package let refused: Counter
    package let claimed: Counter
    package let checksFailed: Counter
    package let storeFailures: Counter
    package let expiredBySweep: Counter
    package let purged: Counter
    package let cancelled: Counter
    package let inHand: Gauge
    package let paused: Gauge
    package let relayNotConfigured: Gauge
    private let waiting: Counter
    private let ended: [ReceiptState: Counter]
    private let ignored: [IgnoredOutcome: Counter]
    private let alarms: [Alarm: Counter]
    private let cleanups: [CleanupResult: Counter]

    package init(_ metrics: Metrics) {
        let rows = { (result: String) in
            metrics.counter(
                "pushbus_delivery_enqueued_total",
                help: "Records handed to the outbox.",
                labels: ["result": result]
            )
        }
        let outcome = { (state: String) in
            metrics.counter(
                "pushbus_delivery_outcomes_total",
                help: "Committed outcomes by the state they led to.",
                labels: ["state": state]
            )
        }
        let plain = { (name: String, help: String) in
            metrics.counter("pushbus_delivery_\(name)_total", help: help)
        }
        accepted = rows("accepted")
        duplicate = rows("duplicate")
        refused = rows("refused")
        waiting = outcome("waiting")
        ended = [
            .accepted: outcome("accepted"), .permanent: outcome("permanent"),
            .expired: outcome("expired"),
        ]
        ignored = Self.table(metrics, "outcomes_ignored", "Outcomes that changed nothing.", "why")
        alarms = Self.table(metrics, "alarms", "Things an operator should look at.", "what")
        cleanups = Self.table(
            metrics,
            "cleanups",
            "Clean-ups that Registration acknowledged.",
            "result"
        )
        claimed = plain("claims", "Rows claimed.")
        checksFailed = plain("checks_failed", "Eligibility questions without an answer.")
        storeFailures = plain("store_failures", "Commits that failed and were tried again.")
        expiredBySweep = plain("expired", "Rows whose time ended while nobody held them.")
        purged = plain("purged", "Receipts removed after their retention.")
        cancelled = plain("cancelled", "Waiting rows that an operator ended.")
        paused = metrics.gauge(
            "pushbus_delivery_paused",
            help: "Relays, providers and topics that are paused."
        )
        relayNotConfigured = metrics.gauge(
            ServiceStatusAnswer.relayNotConfiguredMetric,
            help:
                "Unix second at which a relay said last that it has no credentials, 0 when it has."
        )
        inHand = metrics.gauge(
            "pushbus_delivery_in_hand",
            help: "Rows claimed by this process."
        )
    }

    /// One counter for each word of a closed set.
    private static func table<Word: CaseIterable & Hashable & RawRepresentable<String>>(
        _ metrics: Metrics,
        _ name: String,
        _ help: String,
        _ label: String
    ) -> [Word: Counter] {
        var counters: [Word: Counter] = [:]
        for word in Word.allCases {
            counters[word] = metrics.counter(
                "pushbus_delivery_\(name)_total",
                help: help,
                labels: [label: word.rawValue]
            )
        }
        return counters
    }

    func settled(_ result: SettleResult) {
        switch result {
        case .ended(let state): ended[state]?.add()
        case .waiting: waiting.add()
        case .ignored(let why): ignored[why]?.add()
        }
    }

    func alarm(_ alarm: Alarm) { alarms[alarm]?.add() }

    func cleaned(_ result: CleanupResult) { cleanups[result]?.add() }
}
