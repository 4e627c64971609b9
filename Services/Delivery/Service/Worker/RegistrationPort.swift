import Contracts

/// Registration, as the worker needs it.
package protocol RegistrationPort: Sendable {
    /// Whether a question would be sent at once.
    func isConnected() async -> Bool

    /// Returns once it is connected or the task is cancelled.
    func waitUntilConnected() async

    /// Throws when there is no answer in time.
    func check(_ question: EligibilityCheck, timeout: Duration) async throws
        -> EligibilityCheckAnswer

    /// Throws when the clean-ups were not acknowledged in time.
    func clean(
        _ request: RegistrationCleanup,
        timeout: Duration
    ) async throws -> RegistrationCleanupAnswer
}
