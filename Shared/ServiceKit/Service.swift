import Loop

/// Something long-lived.
///
/// `run` works until the signal is raised, then takes no new work, finishes or hands back what is
/// in flight, flushes, closes and returns. Returning or throwing before that is a fault which ends
/// the process. When its grace period is over the task is cancelled.
package protocol Service: Sendable {
    /// A short name for log lines.
    var name: String { get }

    /// Works until asked to stop.
    func run(until stop: StopSignal) async throws
}
