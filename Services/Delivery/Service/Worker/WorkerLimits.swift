/// Sizes and times of a worker.
package struct WorkerLimits: Sendable {
    /// Rows in hand at a time: claimed, being checked or sent, or waiting for their commit.
    package var window = 4096
    /// Rows of one check and one send.
    package var batch = 512
    /// Batches under way at a time; a batch is under way until its last verdict. Not more than a relay
    /// reads at once, or messages would wait unread with an ageing check.
    package var rounds = 64
    /// How long a claim holds.
    package var lease: Duration = .seconds(60)
    /// What must be left of a lease when a row is handed to a relay: longer than a send can take.
    package var leaseReserve: Duration = .seconds(30)
    /// Longest wait for Registration's answer.
    package var checkTimeout: Duration = .seconds(5)
    /// Longest wait for the verdicts of a batch.
    package var sendTimeout: Duration = .seconds(25)
    /// Longest time between two looks at the store.
    package var pollInterval: Duration = .seconds(1)
    /// How long a large batch may wait for room before it is inserted; looked at every `pollInterval`.
    package var insertionWait: Duration = .seconds(1)
    /// How long a stopping worker waits for verdicts.
    package var stopGrace: Duration = .seconds(5)
    /// How long receipts are kept after the end of their event.
    package var retention: Duration = .seconds(2 * 86_400)

    package init() {}

    /// Fits the times of a send to a lease: half of it must be left at the hand-over, and the verdicts
    /// must be there before it ends.
    mutating func lease(for duration: Duration) {
        lease = duration
        leaseReserve = min(leaseReserve, duration / 2)
        sendTimeout = min(sendTimeout, leaseReserve * 5 / 6)
        checkTimeout = min(checkTimeout, leaseReserve / 2)
    }

    /// Fits batches and window to a relay that takes this many messages at a time, so that rows do not
    /// wait with an ageing check.
    mutating func narrow(to concurrent: Int) {
        batch = min(batch, concurrent)
        window = min(window, concurrent * 4)
    }
}
