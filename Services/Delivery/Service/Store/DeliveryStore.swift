import Contracts
import DeliveryCore

/// The outbox, in Delivery's own terms.
///
/// Every verb is one transaction or several small ones, judged by the store's own clock; callers hand
/// in durations, never instants. What a verb returned is committed. Rows are unique by event and
/// installation, unconditionally.
package protocol DeliveryStore: Sendable {
    /// Adds the records of a batch that are not rows yet; the first `leasing` of them are claimed for
    /// the caller at once.
    func enqueue(_ batch: DeliveryEnqueue, leasing: Int, lease: Duration) async throws
        -> EnqueueResult

    /// Claims due rows in fair turns among events. Rows under suspicion are left to `claimAlone`.
    func claim(limit: Int, lease: Duration) async throws -> ClaimResult

    /// Claims one row that must have nothing beside it.
    func claimAlone(lease: Duration) async throws -> ClaimedRow?

    /// Commits outcomes; the answer has one entry for each, in order.
    func settle(_ outcomes: [RowOutcome]) async throws -> [SettleResult]

    /// Ends up to `limit` rows whose time has passed and that nobody holds; returns how many.
    func expire(limit: Int) async throws -> Int

    /// Clean-ups that Registration has not acknowledged, oldest first.
    func cleanups(limit: Int) async throws -> [StoredCleanup]

    /// Forgets acknowledged clean-ups.
    func acknowledge(cleanups rowIDs: [Int64]) async throws

    /// Receipts, oldest first, a bounded amount of work a page.
    func receipts(_ query: ReceiptQuery) async throws -> ReceiptQueryAnswer

    /// Counts and oldest age by state, and the clean-ups that wait.
    func status() async throws -> OutboxStatusAnswer

    /// Makes waiting rows due now, a bounded amount of work a page; `after` is where the page before
    /// ended. Ended rows stay ended and claimed ones claimed.
    func advance(_ rows: OutboxSelection, after: Int64?) async throws -> RowsChanged

    /// Ends rows under no live lease as permanent with the reason `Cancelled`, page by page; the
    /// ciphertext goes in the same transaction.
    func cancel(_ rows: OutboxSelection, after: Int64?) async throws -> RowsChanged

    /// Copies the outbox to a new file while it goes on working; returns the size of the copy.
    func backup(to path: String) async throws -> Int64

    /// Removes up to `limit` ended rows whose event ended at least `retention` ago.
    func purge(retention: Duration, limit: Int) async throws -> Int

    /// Frees what a former run of this process left claimed, where the store has one owner only.
    func recover() async throws -> Int

    /// Finishes and closes; the store answers nothing afterwards.
    func close() async
}

/// A claim on a row: which, and by which generation.
package struct RowLease: Hashable, Sendable {
    package var rowID: Int64
    package var generation: Int64

    package init(rowID: Int64, generation: Int64) {
        self.rowID = rowID
        self.generation = generation
    }
}

/// A row in the hands of a worker.
package struct ClaimedRow: Hashable, Sendable {
    package var lease: RowLease
    package var eventID: EventID
    package var category: Category
    package var watermark: Int64
    package var installationID: InstallationID
    package var binding: Int64
    package var attempts: Int64
    /// Claims without an outcome before this one.
    package var claims: Int64
    package var expiresAt: UnixSeconds
    /// What remained of its life at the claim, by the store's clock.
    package var lifeMilliseconds: Int64
    /// Nil when the stored bytes could not be read.
    package var envelope: Envelope?
}

package struct EnqueueResult: Sendable {
    package var accepted: Int
    package var duplicate: Int
    package var leased: [ClaimedRow]
}

package struct ClaimResult: Sendable {
    package var rows: [ClaimedRow]
    /// Whether more rows are due now.
    package var hasMore: Bool
    /// Whether a row waits for `claimAlone`.
    package var hasLoneRow: Bool
    /// When the next row may become due, from now; nil when nothing waits.
    package var nextDueMilliseconds: Int64?
}

/// What an operator's change did to a page of rows.
package struct RowsChanged: Hashable, Sendable {
    package var changed: Int
    /// Rows left alone because they are under a live lease.
    package var held: Int
    /// Pass as `after` for the next page; nil on the last.
    package var next: Int64?

    package init(changed: Int, held: Int, next: Int64?) {
        self.changed = changed
        self.held = held
        self.next = next
    }
}

/// What became of one outcome.
package enum SettleResult: Hashable, Sendable {
    case ended(ReceiptState)
    case waiting
    case ignored(IgnoredOutcome)
}

/// A clean-up as the store keeps it.
package struct StoredCleanup: Hashable, Sendable {
    package var rowID: Int64
    package var item: RegistrationCleanup.Item
}
