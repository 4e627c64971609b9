import Bus
import Contracts
import ServiceKit

/// What operators ask of the outbox.
extension DeliveryRoutes {
    /// Receipts that one request removes.
    private static let rowsPerPurge = 2000

    func administer(_ routes: inout BusRoutes) {
        routes.answer(OutboxRetry.self) { request, _ throws(Reject) in
            let page = try await reading {
                try await store.advance(request.rows, after: request.after)
            }
            if page.changed > 0 { await desk.noteDue() }
            return OutboxRetryAnswer(advanced: Int64(page.changed), next: page.next)
        }
        routes.answer(OutboxCancel.self) { request, _ throws(Reject) in
            let page = try await reading {
                try await store.cancel(request.rows, after: request.after)
            }
            metrics.cancelled.add(UInt64(page.changed))
            return OutboxCancelAnswer(
                cancelled: Int64(page.changed),
                held: Int64(page.held),
                next: page.next
            )
        }
        routes.answer(OutboxPurge.self) { request, _ throws(Reject) in
            let removed = try await reading {
                try await store.purge(
                    retention: .seconds(request.olderThanSeconds),
                    limit: Self.rowsPerPurge
                )
            }
            metrics.purged.add(UInt64(removed))
            return OutboxPurgeAnswer(removed: Int64(removed))
        }
        routes.answer(OutboxBackup.self) { request, _ throws(Reject) in
            OutboxBackupAnswer(
                bytes: try await reading { try await store.backup(to: request.path) }
            )
        }
    }
}
