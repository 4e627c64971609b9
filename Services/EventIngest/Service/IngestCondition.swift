import EventIngestCore
import ServiceKit

/// Says in the readiness of the process whether the store takes writes and has room for events.
package struct IngestCondition: Sendable {
    let store: StoreCondition
    private let readiness: Readiness
    private let openEvents: Int

    package init(_ readiness: Readiness, limits: EventStoreLimits) {
        self.readiness = readiness
        store = StoreCondition(readiness)
        openEvents = limits.openEvents
        open(0)
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
