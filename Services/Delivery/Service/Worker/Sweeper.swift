import ServiceKit

/// Ends rows whose time has passed and removes old receipts, in small batches.
struct Sweeper: Sendable {
    let store: any DeliveryStore
    let limits: WorkerLimits
    let time: any TimeSource
    let metrics: DeliveryMetrics
    let log: Log

    private static let batch = 500
    private static let interval = Duration.seconds(1)
    private static let roundsPerPurge = 60

    /// Sweeps until the task is cancelled.
    func run() async {
        var round = 0
        while !Task.isCancelled {
            do {
                try await expire()
                if round.isMultiple(of: Self.roundsPerPurge) { try await purge() }
            } catch {
                if Task.isCancelled { return }
                metrics.storeFailures.add()
                log.error("sweep failed", ["error": .error(error)])
            }
            round += 1
            guard (try? await time.sleep(for: Self.interval)) != nil else { return }
        }
    }

    private func expire() async throws {
        while !Task.isCancelled {
            // A call looks at a few events only, so a short batch does not mean that all is done.
            let ended = try await store.expire(limit: Self.batch)
            metrics.expiredBySweep.add(UInt64(ended))
            if ended == 0 { return }
        }
    }

    private func purge() async throws {
        while !Task.isCancelled {
            let removed = try await store.purge(retention: limits.retention, limit: Self.batch)
            metrics.purged.add(UInt64(removed))
            if removed == 0 { return }
        }
    }
}
