import Contracts
import DeliveryCore
import ServiceKit

/// A claimed row with the ends of its lease and its life on this process's own clock.
///
/// An object, since it goes from list to list on its way and holds much.
final class HeldRow: Sendable {
    let row: ClaimedRow
    let leaseEnds: MonotonicInstant
    let lifeEnds: MonotonicInstant

    /// `asked` is an instant before the store claimed the row, so that both ends are early, not late.
    init(_ row: ClaimedRow, asked: MonotonicInstant, lease: Duration) {
        self.row = row
        leaseEnds = asked + lease
        lifeEnds = asked + .milliseconds(row.lifeMilliseconds)
    }

    /// An outcome of this claim.
    func outcome(_ change: RowChange, cleanup: CleanupNote? = nil) -> RowOutcome {
        RowOutcome(
            rowID: row.lease.rowID,
            generation: row.lease.generation,
            change: change,
            cleanup: cleanup
        )
    }

    /// The row goes back unsent.
    func handedBack(_ reason: String, after delay: Duration = .zero) -> RowOutcome {
        outcome(
            .retry(reason: reason, delayMilliseconds: delay.milliseconds, isAttempt: false)
        )
    }
}
