import EventIngestCore
import Loop
import ServiceKit

/// Says in the readiness of the process whether the store takes writes and has room for events.
package final class StoreCondition: Sendable {
    private let readiness: Readiness
    private let openEvents: Int
    private let isFailing = Locked(false)

    package init(_ readiness: Readiness, limits: EventStoreLimits) {
        self.readiness = readiness
        openEvents = limits.openEvents
        writes()
        open(0)
    }

    /// Whether the last write failed, so that somebody has to try whether the next one succeeds.
    package var needsProbe: Bool { isFailing.withLock { $0 } }

    package func writes() {
        isFailing.withLock { $0 = false }
        readiness.set("store", .ok)
    }

    package func fails(_ error: any Error) {
        isFailing.withLock { $0 = true }
        readiness.set("store", .waiting("does not take writes: \(error)"))
    }

    /// An event was turned away for want of room.
    func isFull() { open(openEvents) }

    /// So many events wait for the end of their fan-out.
    func open(_ count: Int) {
        guard count >= openEvents else {
            readiness.set("room", .ok)
            return
        }
        readiness.set(
            "room",
            .waiting(
                "\(openEvents) events wait for their fan-out, as many as may: see whether Fanout, "
                    + "Delivery and Registration run, or raise OPEN_EVENTS"
            )
        )
    }
}
