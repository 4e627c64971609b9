import Contracts

/// What one claim of a row led to.
package enum RowChange: Hashable, Sendable {
    case accepted
    /// `isAttempt` when the provider may have seen a request.
    case permanent(reason: String, isAttempt: Bool)
    /// The row's time ended, as its holder saw it.
    case expired
    /// Try again after the delay; `isAttempt` as above.
    case retry(reason: String, delayMilliseconds: Int64, isAttempt: Bool)
}

/// What Registration should learn from a verdict; kept with the row until acknowledged.
package struct CleanupNote: Hashable, Sendable {
    package var tokenHash: Blob
    package var kind: CleanupKind
    package var apnsTimestamp: UnixMilliseconds?
    package var confirmedAt: UnixMilliseconds

    package init(
        tokenHash: Blob,
        kind: CleanupKind,
        apnsTimestamp: UnixMilliseconds?,
        confirmedAt: UnixMilliseconds
    ) {
        self.tokenHash = tokenHash
        self.kind = kind
        self.apnsTimestamp = apnsTimestamp
        self.confirmedAt = confirmedAt
    }
}

/// A change, the row it is for, and the generation of the claim that led to it.
package struct RowOutcome: Hashable, Sendable {
    package var rowID: Int64
    package var generation: Int64
    package var change: RowChange
    package var cleanup: CleanupNote?

    package init(
        rowID: Int64,
        generation: Int64,
        change: RowChange,
        cleanup: CleanupNote? = nil
    ) {
        self.rowID = rowID
        self.generation = generation
        self.change = change
        self.cleanup = cleanup
    }
}
