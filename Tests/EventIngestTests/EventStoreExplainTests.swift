import Contracts
import EventIngestCore
import EventIngestService
import TestKit
import Testing

/// What every event store still knows about an event.
@Suite struct EventStoreExplainTests {
    @Test(arguments: StoreFactory.all)
    func tellsEachStageOfAnEvent(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let alert = EventSamples.alert()
            let id = try world.id(alert)
            let query = EventExplain(eventID: id)
            #expect(try await world.store.explain(query) == EventExplainAnswer(eventID: id))
            #expect(
                try await world.store.explain(EventExplain(source: "/monitor/1", id: "1"))
                    == EventExplainAnswer(eventID: nil)
            )
            try await world.publish(alert)
            try await world.publish(EventSamples.alert(id: "2"))
            var known = try await world.store.explain(query)
            #expect(known.receptions.map(\.verdict) == ["admitted", "duplicate"])
            #expect(known.receptions.map(\.id) == ["1", "2"])
            #expect(known.event?.reason == "waiting_for_registration")
            #expect(known.course?.watermark == nil)
            #expect(known.course?.audience == .everyone)
            try await world.settle(41)
            _ = try await world.claim()
            try await world.report(id, to: "b", .more, written: 2, skipped: ["role": 3])
            known = try await world.store.explain(query)
            #expect(known.course?.watermark == 41)
            #expect(known.course?.cursor == InstallationID("b"))
            #expect(known.course?.turnAt == StoreWorld.start.adding(milliseconds: 15_000))
            #expect(known.event?.skipped == ["role": 3])
            // What remains when the content is gone.
            try await world.report(id, from: "b", to: "c", .done)
            try await world.reopen()
            known = try await world.store.explain(EventExplain(source: "/monitor/1", id: "2"))
            #expect(known.eventID == id)
            #expect(known.event?.state == .fannedOut)
            #expect(known.event?.written == 3)
            #expect(known.course?.watermark == 41)
            #expect(known.course?.audience == nil)
        }
    }

    @Test(arguments: StoreFactory.all)
    func namesWhatARecoveryWaitsFor(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let (alert, recovery) = (
                EventSamples.alert(), EventSamples.alert(.alertResolved, id: "2")
            )
            try await world.publish(alert, recovery)
            let query = EventExplain(eventID: try world.id(recovery))
            #expect(try await world.store.explain(query).course?.waitsFor == (try world.id(alert)))
            try await world.settle()
            _ = try await world.claim()
            try await world.report(try world.id(alert), .done)
            #expect(try await world.store.explain(query).course?.waitsFor == nil)
        }
    }

    @Test(arguments: StoreFactory.all)
    func countsTheTargetsOfARun(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let attempt = EventSamples.taskAttempt("a", "success")
            let query = EventExplain(eventID: try world.id(attempt))
            try await world.publish(attempt)
            var run = try await world.store.explain(query).run
            #expect(run == .init(isDone: false, targets: nil, finished: 0))
            try await world.publish(EventSamples.taskStart(["a", "b"]))
            run = try await world.store.explain(query).run
            #expect(run == .init(isDone: false, targets: 2, finished: 1))
            try await world.publish(EventSamples.taskAttempt("b", "failed"))
            let known = try await world.store.explain(query)
            #expect(known.run?.isDone == true)
            #expect(known.event?.category == .taskFailure)
            #expect(known.receptions.map(\.verdict) == ["noted", "noted", "admitted"])
        }
    }
}
