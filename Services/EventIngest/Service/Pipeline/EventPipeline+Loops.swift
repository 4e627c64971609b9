import Contracts
import EventIngestCore
import Loop
import ServiceKit

extension EventPipeline {
    /// Longest time without a look at the store, in case a clock has jumped.
    private static let longestWait = Duration.seconds(5)

    /// Asks Registration once for all events that are committed at that moment, again and again
    /// while it is silent; the first value that is committed is final.
    func settleWatermarks() async throws {
        try await repeating("watermark") {
            guard let mark = try await store.awaitingWatermark() else {
                await wakes.committed.wait(atMost: Self.longestWait, time: time)
                return
            }
            let watermark = try await registration.watermark(within: .seconds(10))
            await prompt.heard()
            let count = try await store.settle(watermark: watermark, upTo: mark)
            metrics.settled(count)
            wakes.due.signal()
        }
    }

    /// Hands out what is due and waits for the next turn.
    func handOut() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            try await repeating("handoff") {
                let due = try await store.claimDue(limit: limits.handedOut)
                for order in due.orders {
                    group.addTask { await hand(order) }
                }
                let next = due.next ?? due.now.adding(milliseconds: .max)
                let pause = max(1, min(next.milliseconds - due.now.milliseconds, 5000))
                await wakes.due.wait(atMost: .milliseconds(pause), time: time)
            }
            group.cancelAll()
        }
    }

    /// Carries to Fanouts what was handed out together with its admission.
    func handOutAdmitted() async {
        await withDiscardingTaskGroup { group in
            while let order = await wakes.orders.next() {
                group.addTask { await hand(order) }
            }
            group.cancelAll()
        }
    }

    /// A silence shorter than this is a connection that broke: the event is still ours to give.
    private static let brokenWithin = Duration.seconds(10)
    private static let brokenDelayMilliseconds: Int64 = 1000

    private func hand(_ order: HandoffOrder) async {
        let begin = time.monotonic
        switch await fanout.hand(order) {
        case .taken:
            metrics.handed("taken")
        case .busy(let delay):
            metrics.handed("busy")
            await giveBack(order.event, delayMilliseconds: delay)
        case .refused(let message):
            metrics.handed("refused")
            log.error(
                "fanout refused an event",
                ["event_id": .text(order.event.eventID), "message": .string(message)]
            )
        case .silent:
            metrics.handed("silent")
            // After a full silence its turn comes again by itself.
            if begin.duration(to: time.monotonic) < Self.brokenWithin {
                await giveBack(order.event, delayMilliseconds: Self.brokenDelayMilliseconds)
            }
        case .stopped: break
        }
    }

    /// Records that a Fanout did not take it, as that Fanout itself would report it.
    private func giveBack(_ event: EventAdmitted, delayMilliseconds: Int64) async {
        let report = FanoutProgress(
            eventID: event.eventID,
            from: event.cursor,
            to: event.cursor,
            written: 0,
            skipped: [:],
            state: .back,
            delayMilliseconds: max(delayMilliseconds, 100)
        )
        do {
            metrics.reported(try await store.record(report))
            wakes.due.signal()
        } catch {
            // Its turn comes again without this, only later.
            log.warning("event not given back", ["error": .error(error)])
        }
    }

    /// A store that failed is tried, so that it counts as mended also when nobody publishes.
    private func probe() async {
        guard condition.store.needsProbe else { return }
        do {
            try await store.probe()
            condition.store.writes()
        } catch {
            condition.store.fails(error)
        }
    }

    /// Ends what has had its time, and now and then forgets what was kept long enough.
    func endAndPurge() async throws {
        var nextPurge = time.monotonic
        try await repeating("upkeep") {
            let ended = try await store.expireDue(limit: limits.upkeepRows)
            if ended > 0 {
                metrics.ended(.expired, ended)
                log.info("events expired", ["count": .int(ended)])
                wakes.due.signal()
            }
            let resolved = try await store.resolve(limit: limits.upkeepRows)
            metrics.resolved(resolved)
            if resolved.admitted > 0 {
                wakes.committed.signal()
                wakes.due.signal()
            }
            let backlog = try await store.backlog()
            metrics.backlog(backlog, now: time.wall.second)
            condition.open(backlog.open)
            await probe()
            if time.monotonic >= nextPurge {
                let purged = try await store.purge(limit: limits.upkeepRows)
                metrics.purged(purged)
                if purged == 0 { nextPurge = time.monotonic + limits.purgeInterval }
                if purged > 0 { return }
            }
            if ended < limits.upkeepRows {
                try await time.sleep(for: limits.upkeepInterval)
            }
        }
    }
}
