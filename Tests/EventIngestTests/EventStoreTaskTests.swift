import Contracts
import EventIngestCore
import EventIngestService
import TestKit
import Testing

/// What every event store does with task runs.
@Suite struct EventStoreTaskTests {
    @Test(arguments: StoreFactory.all)
    func makesOneSummaryOfARun(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let start = EventSamples.taskStart(["a", "b"])
            let first = EventSamples.taskAttempt("a", "success")
            let last = EventSamples.taskAttempt("b", "offline")
            let answers = try await world.publish(first, start, first)
            #expect(answers.map(\.status) == [.accepted, .accepted, .duplicate])
            #expect(try await world.store.backlog().open == 0)
            try await world.reopen()
            #expect(try await world.publish(last).map(\.status) == [.accepted])
            // The end is on disk: what is told later changes nothing.
            try await world.reopen()
            let late = EventSamples.taskAttempt("b", "success", attempt: 2)
            try await world.publish(late, EventSamples.taskEnd(.taskRunInterrupted))
            try await world.settle()
            let events = try await world.claim()
            #expect(events.count == 1)
            #expect(events.first?.eventID == (try world.id(start)))
            #expect(events.first?.audience == Audience(userID: UserID("alice")))
            guard case .taskFailure(let run)? = events.first?.content else {
                Issue.record("no failure")
                return
            }
            #expect((run.total, run.offline, run.failed) == (2, 1, 0))
        }
    }

    @Test(arguments: StoreFactory.all)
    func keepsRunsApart(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            try await world.publish(
                EventSamples.taskStart(["a"], run: "r1"),
                EventSamples.taskAttempt("a", "success", run: "r2"),
                EventSamples.taskStart([], run: "r3", isManual: false)
            )
            try await world.settle()
            let events = try await world.claim()
            #expect(events.map(\.content.category) == [.taskFailure])
            #expect(events.map(\.audience.userID) == [UserID("bob")])
        }
    }

    @Test(arguments: StoreFactory.all)
    func cancelsTheRunsOfARevokedIntegrator(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let integrator = Integrator(id: "m", name: "m", sources: ["*"], types: ["*"])
            try await world.put(PolicyItem(integrator))
            for event in [
                EventSamples.taskStart(["a"]), EventSamples.taskStart([], run: "r2"),
            ] {
                var candidate = try EventSamples.candidate(event)
                candidate.publisher = .integrator("m")
                _ = try await world.store.admit([candidate])
            }
            var revoked = integrator
            revoked.isEnabled = false
            #expect(try await world.put(PolicyItem(revoked)).cancelled == 1)
            try await world.publish(EventSamples.taskAttempt("a", "failed"))
            try await world.settle()
            let handed = try await world.claim().map(\.eventID)
            #expect(handed == [try world.id(EventSamples.taskStart([], run: "r2"))])
        }
    }

    @Test(arguments: StoreFactory.all)
    func endsARunWithAnyOfItsPublishers(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let start = EventSamples.taskStart(["a", "b"])
            var first = Integrator(id: "first", name: "n", sources: ["*"], types: ["*"])
            var second = Integrator(id: "second", name: "n", sources: ["*"], types: ["*"])
            try await world.put(PolicyItem(first), PolicyItem(second))
            for (event, publisher) in [
                (start, "first"), (EventSamples.taskAttempt("a", "success"), "second"),
            ] {
                var candidate = try EventSamples.candidate(event)
                candidate.publisher = .principal(publisher)
                _ = try await world.store.admit([candidate])
            }
            // The one who told of the attempt keeps that, and loses the rest.
            second.types = [EventType.taskAttemptFinished.rawValue]
            #expect(try await world.put(PolicyItem(second)).cancelled == 0)
            // The one who told of the start loses that, though another spoke last.
            first.types = [EventType.taskAttemptFinished.rawValue]
            #expect(try await world.put(PolicyItem(first)).cancelled == 1)
            let stored = try await world.event(try world.id(start))
            #expect(stored?.state == .suppressed)
            #expect(stored?.reason == "principal_revoked")
            let last = EventSamples.taskAttempt("b", "success")
            #expect(try await world.publish(last).map(\.status) == [.accepted])
            try await world.settle()
            #expect(try await world.claim().isEmpty)
        }
    }

    @Test(arguments: StoreFactory.all)
    func forgetsRunsAfterTheRetention(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            try await world.publish(EventSamples.taskStart(["a"]))
            world.time.advance(by: .seconds(7 * 86_400 + 1))
            #expect(try await world.store.purge(limit: 10) == 1)
            try await world.publish(EventSamples.taskAttempt("a", "success", id: "new"))
            #expect(try await world.store.backlog().open == 0)
        }
    }

    @Test(arguments: [
        ("trigger", JSONValue.string("sometimes"), "/data/trigger"),
        ("initiator", .null, "/data/initiator"), ("targets", .string("a"), "/data/targets"),
        ("targets", .array([.integer(1)]), "/data/targets/0"),
        ("targets", .array([.string("a"), .string("a")]), "/data/targets"),
        ("maximum_attempts", .integer(0), "/data/maximum_attempts"),
        ("run_id", .null, "/data/run_id"),
    ])
    func refusesWhatIsNoStart(_ name: String, _ value: JSONValue, _ pointer: String) throws {
        guard case .object(var event) = EventSamples.taskStart(["a"]),
            case .object(var data)? = event["data"]
        else { return }
        data[name] = value
        event["data"] = .object(data)
        let violation = #expect(throws: ContractViolation.self) {
            try EventSamples.candidate(.object(event))
        }
        #expect(violation?.pointer == pointer)
    }
}
