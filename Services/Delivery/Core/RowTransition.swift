import Contracts

/// A row as the store holds it, as far as a transition depends on it.
package struct StoredRow: Hashable, Sendable {
    package var state: ReceiptState
    package var generation: Int64
    package var attempts: Int64
    /// The end of its life by the store's clock.
    package var expiresAt: UnixSeconds

    package init(
        state: ReceiptState,
        generation: Int64,
        attempts: Int64,
        expiresAt: UnixSeconds
    ) {
        self.state = state
        self.generation = generation
        self.attempts = attempts
        self.expiresAt = expiresAt
    }
}

/// What an outcome does to a stored row.
package enum RowTransition: Hashable, Sendable {
    /// The row ends; its ciphertext goes in the same transaction.
    case end(ReceiptState, reason: String?, attempts: Int64)
    /// The row waits until `due`; claims go back to 0.
    case wait(ReceiptState, reason: String, attempts: Int64, due: UnixMilliseconds)
    /// Nothing changes; the outcome is counted.
    case ignore(IgnoredOutcome)

    /// Acceptance closes any row that has not ended, whatever its generation; everything else needs
    /// the current generation. A wait never reaches past the row's end.
    package static func of(
        _ outcome: RowOutcome,
        on row: StoredRow?,
        now: UnixMilliseconds
    ) -> RowTransition {
        guard let row else { return .ignore(.unknownRow) }
        guard !row.state.isTerminal else { return .ignore(.ended) }
        if outcome.change == .accepted {
            return .end(.accepted, reason: nil, attempts: row.attempts + 1)
        }
        guard outcome.generation == row.generation else { return .ignore(.lapsed) }
        switch outcome.change {
        case .accepted:
            return .end(.accepted, reason: nil, attempts: row.attempts + 1)
        case .permanent(let reason, let isAttempt):
            let attempts = row.attempts + (isAttempt ? 1 : 0)
            return .end(.permanent, reason: reason, attempts: attempts)
        case .expired:
            return .end(.expired, reason: Reason.expired, attempts: row.attempts)
        case .retry(let reason, let delay, let isAttempt):
            let attempts = row.attempts + (isAttempt ? 1 : 0)
            let end = row.expiresAt.start
            guard now < end else {
                return .end(.expired, reason: Reason.expired, attempts: attempts)
            }
            let due = min(now.adding(milliseconds: max(0, delay)), end)
            let state: ReceiptState = attempts == 0 ? .pending : .retryable
            return .wait(state, reason: reason, attempts: attempts, due: due)
        }
    }
}

/// Why an outcome changed nothing.
package enum IgnoredOutcome: String, Hashable, CaseIterable, Sendable {
    /// The row had ended already.
    case ended
    /// The lease had lapsed and the row was claimed again.
    case lapsed
    /// There is no such row (any more).
    case unknownRow = "unknown_row"
}
