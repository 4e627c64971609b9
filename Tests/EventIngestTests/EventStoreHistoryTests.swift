import Contracts
import EventIngestCore
import EventIngestService
import TestKit
import Testing

/// Random histories with several Fanouts, repeated and lost messages and restarts between any two
/// steps; the seed names the history.
@Suite struct EventStoreHistoryTests {
    private static let histories = StoreFactory.all.flatMap { factory in
        (0..<factory.histories).map { (factory, $0) }
    }

    @Test(arguments: histories)
    func endsEveryEventOnce(_ factory: StoreFactory, _ seed: UInt64) async throws {
        try await StoreWorld.with(factory) { world in
            var history = History(world: world, seed: seed)
            for _ in 0..<150 { try await history.step() }
            try await history.drain()
            try await history.check()
        }
    }
}

private struct History {
    /// What one Fanout believes about an event.
    struct Work {
        var event: EventAdmitted
        var position: Int
    }

    static let audience = (10..<22).map { InstallationID("i\($0)") }

    let world: StoreWorld
    var random: SplitMix
    var works: [Work] = []
    var reports: [FanoutProgress] = []
    var accepted: [EventID: Int] = [:]
    var watermarks: [EventID: Int64] = [:]
    var triggers: [EventID: EventID] = [:]
    var watermark: Int64 = 0

    init(world: StoreWorld, seed: UInt64) {
        self.world = world
        random = SplitMix(state: seed)
    }

    mutating func step() async throws {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<5: try await publish()
        case 5..<8:
            watermark += 1
            try await world.settle(watermark)
        case 8..<11: try await claim()
        case 11..<16: try await report()
        case 16: try await world.reopen()
        case 17: _ = try await world.store.expireDue(limit: 2)
        case 18: _ = try await world.store.purge(limit: 2)
        default:
            let pause = [10, 1000, 16_000, 400_000].randomElement(using: &random) ?? 10
            world.time.advance(by: .milliseconds(pause))
        }
    }

    private mutating func publish() async throws {
        let rule = Int.random(in: 0..<4, using: &random)
        let cycle = Int.random(in: 0..<3, using: &random)
        let type: EventType = Bool.random(using: &random) ? .alertTriggered : .alertResolved
        let event = EventSamples.alert(
            type,
            id: "\(type.rawValue) \(rule) \(cycle) \(Int.random(in: 0..<2, using: &random))",
            rule: "\(rule)",
            startedAt: "2026-05-04T03:02:0\(cycle)Z"
        )
        let candidate = try EventSamples.candidate(event)
        if let trigger = candidate.notification.after {
            triggers[candidate.notification.eventID] = trigger
        }
        for result in try await world.publish(event) where result.status == .accepted {
            accepted[candidate.notification.eventID, default: 0] += 1
        }
    }

    private mutating func claim() async throws {
        let limit = Int.random(in: 1...4, using: &random)
        let due = try await world.store.claimDue(limit: limit)
        #expect(due.orders.count <= limit)
        for order in due.orders {
            let event = order.event
            #expect(due.now < event.expiresAt.start)
            #expect(event.watermark == watermarks[event.eventID, default: event.watermark])
            watermarks[event.eventID] = event.watermark
            if let trigger = triggers[event.eventID] {
                #expect(try await world.event(trigger)?.state != .admitted)
            }
            let position = event.cursor.flatMap { Self.audience.firstIndex(of: $0) } ?? -1
            works.append(Work(event: event, position: position + 1))
        }
    }

    private mutating func report() async throws {
        if let index = works.indices.randomElement(using: &random) {
            let work = works[index]
            let end = min(
                work.position + Int.random(in: 1...6, using: &random),
                Self.audience.count
            )
            let isLast = end == Self.audience.count
            reports.append(
                FanoutProgress(
                    eventID: work.event.eventID,
                    from: work.position == 0 ? nil : Self.audience[work.position - 1],
                    to: Self.audience[end - 1],
                    written: Int64(end - work.position),
                    skipped: [:],
                    state: isLast
                        ? .done : (Int.random(in: 0..<4, using: &random) == 0 ? .back : .more)
                )
            )
            works[index].position = end
            if isLast { works.remove(at: index) }
        }
        // Some reports are lost, some come twice, and they come in any order.
        guard let index = reports.indices.randomElement(using: &random) else { return }
        let report = reports[index]
        if Int.random(in: 0..<3, using: &random) > 0 { reports.remove(at: index) }
        if Int.random(in: 0..<8, using: &random) == 0 { return }
        let recorded = try await world.store.record(report)
        if recorded.reception == .committed {
            #expect(recorded.answer.cursor == report.to)
        }
    }

    /// Lets one diligent Fanout finish what is left.
    mutating func drain() async throws {
        for _ in 0..<200 where try await world.store.backlog().open > 0 {
            try await world.settle(watermark + 1)
            for order in try await world.store.claimDue(limit: 100).orders {
                let event = order.event
                let position = event.cursor.flatMap { Self.audience.firstIndex(of: $0) } ?? -1
                try await world.report(
                    event.eventID,
                    from: event.cursor?.text,
                    to: Self.audience.last?.text,
                    .done,
                    written: Int64(Self.audience.count - 1 - position)
                )
            }
            world.time.advance(by: .seconds(1))
            _ = try await world.store.expireDue(limit: 100)
        }
    }

    func check() async throws {
        #expect(try await world.store.backlog().open == 0)
        #expect(accepted.values.allSatisfy { $0 == 1 })
        for id in accepted.keys {
            let event = try #require(try await world.event(id))
            switch event.state {
            case .fannedOut: #expect(event.written == Int64(Self.audience.count))
            case .expired: #expect(event.written <= Int64(Self.audience.count))
            case .suppressed: #expect(event.written == 0)
            default: Issue.record("\(event.state) at the end")
            }
        }
    }
}
