import Loop

/// Says in the readiness of the process, as `store`, whether the store takes writes.
package final class StoreCondition: Sendable {
    private let readiness: Readiness
    private let isFailing = Locked(false)
    private let failures = BoundedChannel<Bool>(capacity: 1)

    package init(_ readiness: Readiness) {
        self.readiness = readiness
        readiness.set("store", .ok)
    }

    /// Whether the last write failed, so that somebody has to try whether the next one succeeds.
    package var needsProbe: Bool { isFailing.withLock { $0 } }

    package func writes() {
        let wasFailing = isFailing.withLock { isFailing in
            defer { isFailing = false }
            return isFailing
        }
        if wasFailing { readiness.set("store", .ok) }
    }

    package func fails(_ error: any Error) {
        isFailing.withLock { $0 = true }
        readiness.set("store", .waiting("does not take writes: \(error)"))
        _ = failures.trySend(true)
    }

    /// Returns once a write has failed, or when the task is cancelled.
    func waitForFailure() async { _ = await failures.next() }
}
