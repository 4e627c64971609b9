import Bus
import Contracts
import FanoutCore
import Loop
import ServiceKit

/// Takes events from EventIngest and carries a bounded number of them at a time.
///
/// Nothing is kept beyond memory: what is lost here EventIngest hands out again.
package final class FanoutService: Service {
    package let name = "fanout"
    private let run: FanoutRun
    private let metrics: FanoutMetrics
    private let log: Log
    private let queue: BoundedChannel<EventAdmitted>
    /// Events for everybody that are worked on at once; as many others may come on top, so that
    /// large audiences do not hold up a message for one.
    private let events: Int
    private let taken = Locked<Set<EventID>>([])
    private let isStopping = Locked(false)

    init(
        peers: FanoutPeers,
        limits: FanoutLimits,
        metrics: Metrics,
        time: any TimeSource,
        log: Log
    ) {
        self.metrics = FanoutMetrics(metrics)
        self.log = log
        queue = BoundedChannel(capacity: 2 * limits.events)
        events = limits.events
        run = FanoutRun(
            peers: peers,
            limits: limits,
            metrics: self.metrics,
            time: time,
            log: log
        )
    }

    /// The routes of Fanout's own endpoint.
    package func addRoutes(to routes: inout BusRoutes) {
        routes.answer(EventAdmitted.self) { [self] (event, _) throws(Reject) in
            try take(event)
        }
    }

    /// Takes an event into memory, or refuses with `retry_after` when enough are being worked on.
    ///
    /// An event that is being worked on is acknowledged and not begun again.
    private func take(_ event: EventAdmitted) throws(Reject) -> Ack {
        enum Verdict { case new, known, full }
        let limit = event.audience == .everyone ? events : 2 * events
        let verdict = taken.withLock { taken -> Verdict in
            if taken.contains(event.eventID) { return .known }
            guard taken.count < limit, !isStopping.withLock({ $0 }) else { return .full }
            taken.insert(event.eventID)
            return .new
        }
        switch verdict {
        case .known:
            metrics.repeated.add()
            return Ack()
        case .new where queue.trySend(event):
            metrics.running.add(1)
            return Ack()
        case .new, .full:
            if verdict == .new { taken.withLock { _ = $0.remove(event.eventID) } }
            metrics.refused.add()
            throw Reject(
                .retryAfter,
                "enough events are being worked on; hand it to another Fanout or wait",
                retryAfterMilliseconds: 1000
            )
        }
    }

    /// Works until `stop`, then gives back what is not done.
    package func run(until stop: StopSignal) async throws {
        let registration = stop.onTrigger { [queue, isStopping] in
            isStopping.withLock { $0 = true }
            queue.finish()
        }
        await withDiscardingTaskGroup { group in
            while let event = await queue.next() {
                group.addTask { await self.carry(event, until: stop) }
            }
        }
        stop.remove(registration)
        run.peers.stop()
    }

    private func carry(_ event: EventAdmitted, until stop: StopSignal) async {
        let ending = await run.carry(event, until: stop)
        taken.withLock { _ = $0.remove(event.eventID) }
        metrics.running.add(-1)
        metrics.count(ending)
        log.info(
            "event left",
            ["event_id": .text(event.eventID), "ending": .string(ending.rawValue)]
        )
    }
}
