import Contracts
import EventIngestCore
import EventIngestService
import TestKit
import Testing

/// What every event store does with events that come with their watermark.
@Suite struct EventStorePromptTests {
    @Test(arguments: StoreFactory.all)
    func handsOutInTheTransactionThatAdmits(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let alert = EventSamples.alert()
            let admitted = try await world.publish(alert, watermark: 7, handingOut: 10)
            #expect(admitted.admissions.map(\.result.status) == [.accepted])
            #expect(admitted.orders.map(\.event.eventID) == [try world.id(alert)])
            #expect(admitted.orders.map(\.event.watermark) == [7])
            #expect(try await world.store.awaitingWatermark() == nil)
            #expect(try await world.claim().isEmpty)
            // Its first watermark is final.
            try await world.settle(9)
            world.time.advance(by: .milliseconds(Handoff.silenceMilliseconds))
            #expect(try await world.claim().map(\.watermark) == [7])
            let again = try await world.publish(alert, watermark: 8, handingOut: 10)
            #expect(again.admissions.map(\.result.status) == [.duplicate])
            #expect(again.orders.isEmpty)
        }
    }

    @Test(arguments: StoreFactory.all)
    func survivesARestartBeforeItIsCarriedOut(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let alert = EventSamples.alert()
            _ = try await world.publish(alert, watermark: 7, handingOut: 10)
            try await world.reopen()
            #expect(try await world.claim().map(\.eventID) == [try world.id(alert)])
        }
    }

    @Test(arguments: StoreFactory.all)
    func keepsToTheBoundAndTheTurns(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let events = (0..<3).map { EventSamples.alert(id: "\($0)", rule: "\($0)") }
            let first = try await world.publish(events[0], watermark: 7, handingOut: 0)
            #expect(first.orders.isEmpty)
            #expect(try await world.event(try world.id(events[0]))?.reason == "waiting_for_fanout")
            let second = try await world.publish(
                events[1],
                events[2],
                watermark: 8,
                handingOut: 2
            )
            #expect(
                second.orders.map(\.event.eventID) == [
                    try world.id(events[0]), try world.id(events[1]),
                ]
            )
            let third = try await world.publish(
                EventSamples.alert(id: "x", rule: "x"),
                watermark: 9,
                handingOut: 2
            )
            #expect(third.orders.isEmpty)
            try await world.report(try world.id(events[0]), .done)
            #expect(try await world.claim(2).map(\.eventID) == [try world.id(events[2])])
        }
    }

    @Test(arguments: StoreFactory.all)
    func holdsARecoveryForItsTrigger(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let alert = EventSamples.alert()
            let recovery = EventSamples.alert(.alertResolved, id: "2")
            let both = try await world.publish(alert, recovery, watermark: 7, handingOut: 10)
            #expect(both.orders.map(\.event.eventID) == [try world.id(alert)])
            try await world.report(try world.id(alert), .done)
            #expect(try await world.claim().map(\.eventID) == [try world.id(recovery)])
        }
    }

    @Test(arguments: StoreFactory.all)
    func takesItsProbeBack(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            try await world.store.probe()
            try await world.store.probe()
            #expect(try await world.store.backlog().open == 0)
            #expect(try await world.store.events(EventQuery()).isEmpty)
        }
    }
}
