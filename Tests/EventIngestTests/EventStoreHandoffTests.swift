import Contracts
import EventIngestCore
import EventIngestService
import TestKit
import Testing

/// How every event store brings an event to its end.
@Suite struct EventStoreHandoffTests {
    private static let alert = EventSamples.alert()

    @Test(arguments: StoreFactory.all)
    func settlesWhatWasCommittedBeforeTheQuestion(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            #expect(try await world.store.awaitingWatermark() == nil)
            try await world.publish(EventSamples.alert(id: "a", rule: "a"))
            try await world.publish(EventSamples.alert(id: "b", rule: "b"))
            let mark = try #require(try await world.store.awaitingWatermark())
            try await world.publish(EventSamples.alert(id: "c", rule: "c"))
            #expect(try await world.store.settle(watermark: 5, upTo: mark) == 2)
            #expect(try await world.store.settle(watermark: 6, upTo: mark) == 0)
            #expect(try await world.claim().map(\.watermark) == [5, 5])
            try await world.settle(9)
            #expect(try await world.claim().map(\.watermark) == [9])
        }
    }

    @Test(arguments: StoreFactory.all)
    func handsOutEverythingAFanoutNeeds(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            try await world.publish(EventSamples.alert(changes: ["traceparent": .string(trace)]))
            try await world.publish(EventSamples.test())
            try await world.settle(3)
            let orders = try await world.store.claimDue(limit: 10).orders
            #expect(orders.map(\.traceparent) == [trace, nil])
            let alert = try #require(orders.first?.event)
            #expect(alert.createdAt == StoreWorld.start.second)
            #expect(alert.expiresAt == StoreWorld.start.second.adding(seconds: 1800))
            #expect(alert.watermark == 3)
            #expect(alert.cursor == nil)
            let notification = try EventSamples.candidate(EventSamples.alert()).notification
            #expect(alert.content == notification.content)
            #expect(alert.eventID == notification.eventID)
            let test = try #require(orders.last?.event)
            #expect(test.audience == Audience(installationID: InstallationID("phone-1")))
            #expect(test.content == .test)
        }
    }

    @Test(arguments: StoreFactory.all)
    func handsOutAgainAfterASilence(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let id = try world.id(Self.alert)
            try await world.publish(Self.alert)
            try await world.settle()
            #expect(try await world.claim().map(\.eventID) == [id])
            let waiting = try await world.store.claimDue(limit: 10)
            #expect(waiting.orders.isEmpty)
            #expect(waiting.next == StoreWorld.start.adding(milliseconds: 15_000))
            world.time.advance(by: .seconds(10))
            try await world.report(id, to: "b", .more)
            world.time.advance(by: .milliseconds(14_999))
            #expect(try await world.claim().isEmpty)
            world.time.advance(by: .milliseconds(1))
            #expect(try await world.claim().map(\.cursor) == [InstallationID("b")])
        }
    }

    @Test(arguments: StoreFactory.all)
    func aClockSetBackHoldsNothingUp(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let handed = EventSamples.alert(id: "handed", rule: "handed")
            let waiting = EventSamples.alert(id: "waiting", rule: "waiting")
            try await world.publish(handed)
            try await world.settle()
            #expect(try await world.claim(1).count == 1)
            try await world.publish(waiting)
            try await world.settle()
            world.time.jumpWall(to: StoreWorld.start.adding(milliseconds: -3_600_000))
            let both = [try world.id(handed), try world.id(waiting)]
            #expect(Set(try await world.claim(2).map(\.eventID)) == Set(both))
        }
    }

    @Test(arguments: StoreFactory.all)
    func boundsWhatIsHandedOutAtOnce(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let events = (0..<5).map { EventSamples.alert(id: "\($0)", rule: "\($0)") }
            for event in events { try await world.publish(event) }
            try await world.settle()
            let first = try await world.claim(2).map(\.eventID)
            #expect(first == [try world.id(events[0]), try world.id(events[1])])
            #expect(try await world.claim(2).isEmpty)
            try await world.report(first[0], .done)
            #expect(try await world.claim(2).map(\.eventID) == [try world.id(events[2])])
        }
    }

    @Test(arguments: StoreFactory.all)
    func takesReportsOnlyFromTheCursor(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let id = try world.id(Self.alert)
            try await world.publish(Self.alert)
            #expect(try await world.report(id, to: "x", .more).reception == .stale)
            try await world.settle()
            _ = try await world.claim()
            let moved = try await world.report(id, to: "b", .more, skipped: ["role": 2])
            #expect(moved.reception == .committed)
            #expect(moved.answer.cursor == InstallationID("b"))
            #expect(moved.answer.isOpen)
            let late = try await world.report(id, to: "c", .done, written: 9)
            #expect(late.reception == .stale)
            #expect(late.answer.cursor == InstallationID("b"))
            #expect(late.answer.isOpen)
            let done = try await world.report(id, from: "b", to: "c", .done, skipped: ["role": 1])
            #expect(done.isCompletion)
            #expect(!done.answer.isOpen)
            let repeated = try await world.report(id, from: "b", to: "c", .done)
            #expect(repeated.reception == .ended)
            #expect(!repeated.isCompletion)
            let event = try await world.event(id)
            #expect(event?.state == .fannedOut)
            #expect(event?.written == 2)
            #expect(event?.skipped == ["role": 3])
            let unknown = try await world.report(EventIdentitySample.id, .done)
            #expect(unknown.reception == .ended)
            #expect(!unknown.answer.isOpen)
        }
    }

    @Test(arguments: StoreFactory.all)
    func waitsAsLongAsAFanoutAsks(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let id = try world.id(Self.alert)
            try await world.publish(Self.alert)
            try await world.settle()
            _ = try await world.claim()
            try await world.report(id, to: "b", .back, delay: 700)
            let due = try await world.store.claimDue(limit: 1)
            #expect(due.orders.isEmpty)
            #expect(due.next == StoreWorld.start.adding(milliseconds: 700))
            world.time.advance(by: .milliseconds(700))
            #expect(try await world.claim().map(\.cursor) == [InstallationID("b")])
        }
    }

    @Test(arguments: StoreFactory.all)
    func holdsARecoveryBackUntilItsTriggerHasEnded(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let ends = ["done", "expired"]
            for end in ends {
                let trigger = EventSamples.alert(id: "t\(end)", rule: end)
                let recovery = EventSamples.alert(.alertResolved, id: "r\(end)", rule: end)
                let other = EventSamples.alert(id: "o\(end)", rule: "o\(end)")
                try await world.publish(trigger)
                world.time.advance(by: .seconds(1))
                try await world.publish(recovery, other)
                try await world.settle()
                let first = try await world.claim().map(\.eventID)
                #expect(first == [try world.id(trigger), try world.id(other)])
                try await world.report(try world.id(other), .done)
                try await world.report(try world.id(trigger), to: "a", .more)
                #expect(try await world.claim().isEmpty)
                if end == "done" {
                    try await world.report(try world.id(trigger), from: "a", .done)
                } else {
                    world.time.advance(by: .seconds(1799))
                    #expect(try await world.claim().isEmpty)
                    #expect(try await world.store.expireDue(limit: 10) == 1)
                }
                #expect(try await world.claim().map(\.eventID) == [try world.id(recovery)])
                try await world.report(try world.id(recovery), .done)
            }
        }
    }

    @Test(arguments: StoreFactory.all)
    func endsWhatHasHadItsTime(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let events = (0..<4).map { EventSamples.alert(id: "\($0)", rule: "\($0)") }
            try await world.publish(events[0])
            try await world.settle()
            _ = try await world.claim()
            try await world.report(try world.id(events[0]), to: "b", .more, written: 4)
            for event in events.dropFirst() { try await world.publish(event) }
            world.time.advance(by: .milliseconds(1_799_999))
            #expect(try await world.store.expireDue(limit: 3) == 0)
            world.time.advance(by: .milliseconds(1))
            let late = try await world.report(try world.id(events[0]), from: "b", .done)
            #expect(late.reception == .ended)
            #expect(try await world.claim().isEmpty)
            #expect(try await world.store.expireDue(limit: 2) == 2)
            #expect(try await world.store.expireDue(limit: 2) == 1)
            #expect(try await world.store.awaitingWatermark() == nil)
            let event = try await world.event(try world.id(events[0]))
            #expect(event?.state == .expired)
            #expect(event?.written == 4)
            #expect(try await world.store.backlog() == EventBacklog(open: 0, oldest: nil))
        }
    }

    @Test(arguments: StoreFactory.all)
    func goesOnAfterARestartAtEachStep(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let id = try world.id(Self.alert)
            try await world.publish(Self.alert)
            try await world.reopen()
            try await world.settle(4)
            try await world.reopen()
            #expect(try await world.claim().map(\.watermark) == [4])
            try await world.reopen()
            // Handed out by the earlier life: due at once, not after the silence.
            #expect(try await world.claim().map(\.eventID) == [id])
            try await world.report(id, to: "b", .more, skipped: ["key": 1])
            try await world.reopen()
            #expect(try await world.claim().map(\.cursor) == [InstallationID("b")])
            try await world.report(id, from: "b", to: "c", .back, delay: 900)
            try await world.reopen()
            #expect(try await world.claim().isEmpty)
            world.time.advance(by: .milliseconds(900))
            #expect(try await world.claim().map(\.cursor) == [InstallationID("c")])
            try await world.report(id, from: "c", to: "d", .done)
            try await world.reopen()
            #expect(try await world.claim().isEmpty)
            let event = try await world.event(id)
            #expect(event?.state == .fannedOut)
            #expect(event?.written == 3)
            #expect(event?.skipped == ["key": 1])
        }
    }

    @Test(arguments: StoreFactory.all)
    func tellsWhatBecameOfEvents(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let events = (0..<3).map { EventSamples.alert(id: "\($0)", rule: "\($0)") }
            for event in events {
                try await world.publish(event)
                world.time.advance(by: .seconds(1))
            }
            let newest = try await world.store.events(EventQuery(limit: 2))
            #expect(newest.map(\.id) == ["2", "1"])
            #expect(newest.map(\.state) == [.admitted, .admitted])
            #expect(newest.first?.reason == "waiting_for_registration")
            #expect(newest.first?.source == "/monitor/1")
            #expect(newest.first?.category == .alert)
            #expect(
                try await world.store.backlog()
                    == EventBacklog(open: 3, oldest: StoreWorld.start.second)
            )
            #expect(try await world.event(EventIdentitySample.id) == nil)
        }
    }
}
