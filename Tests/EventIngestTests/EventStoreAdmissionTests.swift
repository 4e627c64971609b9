import Contracts
import EventIngestCore
import EventIngestService
import TestKit
import Testing

/// What every event store does with published events.
@Suite struct EventStoreAdmissionTests {
    @Test(arguments: StoreFactory.all)
    func recordsEachEventOnce(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let first = try await world.publish(EventSamples.alert())
            #expect(first.map(\.status) == [.accepted])
            #expect(first.first?.eventID == (try world.id(EventSamples.alert())))
            try await world.reopen()
            let again = try await world.publish(EventSamples.alert())
            #expect(again.map(\.status) == [.duplicate])
            #expect(again.first?.eventID == first.first?.eventID)
            let other = EventSamples.alert(dataChanges: ["rule_name": .string("Changed")])
            #expect(try await world.publish(other).map(\.status) == [.conflict])
            #expect(try await world.store.backlog().open == 1)
        }
    }

    @Test(arguments: StoreFactory.all)
    func recognisesTheSameHappeningFromElsewhere(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            try await world.publish(EventSamples.alert())
            let elsewhere = EventSamples.alert(changes: ["source": .string("/monitor/2")])
            let results = try await world.publish(elsewhere, EventSamples.alert(id: "2"))
            #expect(results.map(\.status) == [.duplicate, .duplicate])
            #expect(results[0].reason != nil)
            #expect(try await world.publish(elsewhere).map(\.status) == [.duplicate])
            #expect(try await world.store.backlog().open == 1)
        }
    }

    @Test(arguments: StoreFactory.all)
    func answersABatchInItsOrder(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let results = try await world.publish(
                EventSamples.alert(id: "a", rule: "a"),
                EventSamples.alert(id: "a", rule: "a"),
                EventSamples.alert(id: "a", rule: "b"),
                EventSamples.alert(id: "b", rule: "a"),
                EventSamples.alert(id: "c", rule: "c")
            )
            #expect(
                results.map(\.status)
                    == [.accepted, .duplicate, .conflict, .duplicate, .accepted]
            )
        }
    }

    @Test(arguments: StoreFactory.all)
    func makesOneRowOfAHundredConcurrentPublishes(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let candidate = try EventSamples.candidate(EventSamples.alert())
            let store = world.store
            let statuses = try await withThrowingTaskGroup(of: PublishStatus?.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        try await store.admit([candidate]).first?.result.status
                    }
                }
                var statuses: [PublishStatus?: Int] = [:]
                for try await status in group { statuses[status, default: 0] += 1 }
                return statuses
            }
            #expect(statuses == [.accepted: 1, .duplicate: 99])
            #expect(try await world.store.events(EventQuery()).count == 1)
        }
    }

    @Test(arguments: StoreFactory.all)
    func asksToComeAgainWhenFull(_ factory: StoreFactory) async throws {
        let limits = EventStoreLimits(openEvents: 2)
        try await StoreWorld.with(factory, limits: limits) { world in
            let events = ["a", "b", "c"].map { EventSamples.alert(id: $0, rule: $0) }
            let results = try await world.publish(events[0], events[1], events[2])
            #expect(results.map(\.status) == [.accepted, .accepted, .retryAfter])
            #expect(results[2].retryAfterMilliseconds ?? 0 > 0)
            let again = try await world.publish(events[2], events[0])
            #expect(again.map(\.status) == [.retryAfter, .duplicate])
            try await world.settle()
            _ = try await world.claim()
            try await world.report(try world.id(events[0]), .done)
            #expect(try await world.publish(events[2]).map(\.status) == [.accepted])
        }
    }

    @Test(arguments: StoreFactory.all)
    func recordsALateEventAndHandsItToNobody(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let old = EventSamples.alert(changes: ["time": .string("2027-01-15T07:29:59Z")])
            let results = try await world.publish(old)
            #expect(results.map(\.status) == [.accepted])
            #expect(results.first?.reason != nil)
            #expect(try await world.publish(old).map(\.status) == [.duplicate])
            #expect(try await world.store.awaitingWatermark() == nil)
            #expect(try await world.claim().isEmpty)
            let event = try await world.event(try world.id(old))
            #expect(event?.state == .expired)
            #expect(event?.reason == "too_old")
        }
    }

    @Test(arguments: StoreFactory.all)
    func limitsTheLifeByTimeAndExpirytime(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let plain = EventSamples.alert(id: "a", rule: "a")
            let earlier = EventSamples.alert(
                id: "b",
                rule: "b",
                changes: ["time": .string("2027-01-15T07:59:00Z")]
            )
            let shorter = EventSamples.alert(
                id: "c",
                rule: "c",
                changes: ["expirytime": .string("2027-01-15T08:00:10.9Z")]
            )
            try await world.publish(plain, earlier, shorter)
            let created = StoreWorld.start.second
            for (event, seconds) in [(plain, Int64(1800)), (earlier, 1740), (shorter, 10)] {
                let stored = try await world.event(try world.id(event))
                #expect(stored?.createdAt == created)
                #expect(stored?.expiresAt == created.adding(seconds: seconds))
            }
        }
    }

    @Test(arguments: StoreFactory.all)
    func forgetsAfterTheRetention(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let cycle = EventSamples.alert(id: "trigger", rule: "held")
            let brief = (0..<5).map { index in
                EventSamples.test(eventID: "11111111-1111-4111-8111-11111111111\(index)")
            }
            try await world.publish(cycle)
            for event in brief { try await world.publish(event) }
            world.time.advance(by: .seconds(1800))
            #expect(try await world.store.expireDue(limit: 100) == 6)
            world.time.advance(by: .seconds(7 * 86_400 - 1800))
            #expect(try await world.store.purge(limit: 3) == 0)
            world.time.advance(by: .seconds(1))
            #expect(try await world.store.purge(limit: 3) == 6)
            #expect(try await world.store.purge(limit: 3) == 5)
            #expect(try await world.store.purge(limit: 3) == 0)
            // The open cycle is still known, so its trigger notifies nobody again.
            #expect(try await world.publish(cycle).map(\.status) == [.duplicate])
            #expect(try await world.publish(brief[0]).map(\.status) == [.accepted])
            let recovery = EventSamples.alert(.alertResolved, id: "recovery", rule: "held")
            #expect(try await world.publish(recovery).map(\.status) == [.accepted])
            world.time.advance(by: .seconds(1800))
            #expect(try await world.store.expireDue(limit: 100) == 2)
            world.time.advance(by: .seconds(7 * 86_400 + 1))
            #expect(try await world.store.purge(limit: 100) == 6)
            #expect(try await world.store.events(EventQuery()).isEmpty)
        }
    }
}
