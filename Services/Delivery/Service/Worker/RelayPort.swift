import Contracts

/// The relays, as the worker needs them.
package protocol RelayPort: Sendable {
    /// Whether a batch would be sent at once.
    func isConnected() async -> Bool

    /// Returns once it is connected or the task is cancelled.
    func waitUntilConnected() async

    /// Sends a batch and hands on verdicts as they come, until the last or a failure.
    ///
    /// A batch that no relay took within `handOver` is never sent and ends as refused.
    func send(
        _ batch: RelaySend,
        handOver: Duration,
        timeout: Duration,
        onVerdicts: (RelayVerdicts) async -> Void
    ) async -> RelayEnd

    /// Ends every send that is under way, and every later one at once.
    func abandon() async
}

/// How a batch at a relay ended.
package enum RelayEnd: Hashable, Sendable {
    /// The relay said that every message has its verdict.
    case complete
    /// The relay refused the batch: no message was processed.
    case refused(reason: String, retryAfterMilliseconds: Int64?)
    /// No further verdicts will come; messages without one may have been processed.
    case broken
}
