import Bus
import Contracts
import EventIngestCore
import EventIngestService
import TestKit
import Testing

/// The way of an event through the running process, over a real bus.
@Suite struct PipelineTests {
    private let alert = EventSamples.alert()

    private func id(_ event: JSONValue) throws -> EventID {
        let identity = EventIdentity(sha256: EventPublishing.hash)
        return try EventCandidate(event, identity: identity, decodeJSON: { _ in nil })
            .notification.eventID
    }

    @Test func bringsAnEventToItsEnd() async throws {
        try await IngestScene.run(watermark: 41) { scene in
            let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            let event = EventSamples.alert(changes: ["traceparent": .string(trace)])
            #expect(try await scene.client.publish(event).map(\.status) == [.accepted])
            let handed = try #require(try await scene.fanout.received(1).first)
            #expect(handed.eventID == (try id(event)))
            #expect(handed.watermark == 41)
            #expect(handed.cursor == nil)
            #expect(scene.fanout.traces.value == [trace])
            let open = try await scene.client.report(handed.eventID, to: "a", .more)
            #expect(open.isOpen)
            #expect(open.cursor == InstallationID("a"))
            let done = try await scene.client.report(handed.eventID, from: "a", to: "b", .done)
            #expect(!done.isOpen)
            let stored = try await scene.client.event(handed.eventID)
            #expect(stored?.state == .fannedOut)
            #expect(stored?.written == 2)
            #expect(
                scene.process.count(#"pushbus_eventingest_ended_total{state="fanned_out"}"#) == 1
            )
        }
    }

    @Test func waitsForARegistrationThatIsNotThere() async throws {
        let world = try IngestWorld()
        defer { world.runtime.stop() }
        let fanout = try await StubFanout(world)
        let process = try await world.start()
        let client = try world.client()
        #expect(try await client.publish(alert).map(\.status) == [.accepted])
        #expect(try await client.event(try id(alert))?.reason == "waiting_for_registration")
        let registration = try await StubRegistration(world, watermark: 3)
        #expect(try await fanout.received(1).map(\.watermark) == [3])
        client.stop()
        await process.stop()
        await fanout.end()
        await registration.server.end()
    }

    @Test func asksOnceForAllThatIsCommitted() async throws {
        try await IngestScene.run(isOpen: false) { scene in
            _ = try await scene.client.publish(EventSamples.alert(id: "0", rule: "0"))
            // Asked for the event itself, and again once it was committed without an answer.
            _ = try await within(.seconds(20)) {
                await scene.registration.asked.wait { $0.count == 2 }
            }
            for index in 1..<20 {
                _ = try await scene.client.publish(
                    EventSamples.alert(id: "\(index)", rule: "\(index)")
                )
            }
            scene.registration.gate.update { $0 = true }
            #expect(try await scene.fanout.received(20).count == 20)
            #expect(scene.registration.asked.value.count == 3)
        }
    }

    @Test func handsASilentFanoutsEventToAnother() async throws {
        let world = try IngestWorld()
        defer { world.runtime.stop() }
        let registration = try await StubRegistration(world)
        let fanouts = [
            try await StubFanout(world, "fanout-a"), try await StubFanout(world, "fanout-b"),
        ]
        let process = try await world.start()
        let client = try world.client()
        try await warmUp(world, fanouts, client)
        for fanout in fanouts { fanout.manner.update { $0 = .silent } }
        let counts = fanouts.map { $0.events.value.count }
        _ = try await client.publish(alert)
        let total = counts.reduce(1, +)
        _ = try await within(.seconds(20)) { await world.handed.wait { $0 >= total } }
        let silent = fanouts[0].events.value.count > counts[0] ? 0 : 1
        let other = fanouts[1 - silent]
        other.manner.update { $0 = .taking }
        try await world.advance(by: .milliseconds(15_000))
        let handed = try #require(try await other.received(counts[1 - silent] + 1).last)
        #expect(handed.eventID == (try id(alert)))
        // Both report; only the one whose report begins at the cursor moves it.
        #expect(try await client.report(handed.eventID, to: "b", .more).isOpen)
        let late = try await client.report(handed.eventID, to: "a", .more)
        #expect(late.cursor == InstallationID("b"))
        #expect(late.isOpen)
        #expect(try await client.event(handed.eventID)?.written == 1)
        #expect(process.count(#"pushbus_eventingest_progress_total{reception="stale"}"#) == 1)
        client.stop()
        await process.stop()
        for fanout in fanouts { await fanout.end() }
        await registration.server.end()
    }

    /// Publishes and completes events until every Fanout has had one, and so is connected.
    private func warmUp(
        _ world: IngestWorld,
        _ fanouts: [StubFanout],
        _ client: BusClient
    ) async throws {
        var index = 0
        while fanouts.contains(where: \.events.value.isEmpty), index < 1000 {
            let event = EventSamples.alert(id: "warm \(index)", rule: "warm \(index)")
            _ = try await client.publish(event)
            index += 1
            let count = index
            _ = try await within(.seconds(20)) { await world.handed.wait { $0 >= count } }
            _ = try await client.report(try id(event), .done)
        }
    }

    @Test func comesAgainToAFanoutThatIsBusyOrGivesBack() async throws {
        try await IngestScene.run(fanout: .busy) { scene in
            _ = try await scene.client.publish(alert)
            _ = try await scene.fanout.received(1)
            scene.fanout.manner.update { $0 = .taking }
            _ = try await within(.seconds(20)) {
                while try await scene.client.event(try id(alert))?.reason != "waiting_for_fanout" {}
            }
            try await scene.world.advance(by: .milliseconds(300))
            let handed = try #require(try await scene.fanout.received(2).last)
            _ = try await scene.client.report(handed.eventID, to: "c", .back, delay: 2000)
            try await scene.world.advance(by: .milliseconds(2000))
            #expect(try await scene.fanout.received(3).last?.cursor == InstallationID("c"))
        }
    }

    @Test func expiresAnEventWhateverFanoutDoes() async throws {
        try await IngestScene.run { scene in
            _ = try await scene.client.publish(alert)
            let handed = try #require(try await scene.fanout.received(1).first)
            #expect(try await scene.client.report(handed.eventID, to: "a", .more).isOpen)
            try await scene.world.advance(by: .seconds(1800))
            try await within(.seconds(20)) { await scene.world.lines.wait(for: "events expired") }
            let late = try await scene.client.report(handed.eventID, from: "a", to: "b", .done)
            #expect(!late.isOpen)
            let stored = try await scene.client.event(handed.eventID)
            #expect(stored?.state == .expired)
            #expect(stored?.written == 1)
        }
    }

    @Test func handsARecoveryOutAfterItsTrigger() async throws {
        try await IngestScene.run { scene in
            let recovery = EventSamples.alert(.alertResolved, id: "2")
            _ = try await scene.client.publish(alert, recovery)
            let trigger = try #require(try await scene.fanout.received(1).first)
            #expect(trigger.eventID == (try id(alert)))
            _ = try await scene.client.report(trigger.eventID, .done)
            #expect(try await scene.fanout.received(2).last?.eventID == (try id(recovery)))
        }
    }

    @Test func goesOnAfterARestartAtEachStep() async throws {
        let world = try IngestWorld()
        defer { world.runtime.stop() }
        var process = try await world.start()
        let client = try world.client()
        #expect(try await client.publish(alert).map(\.status) == [.accepted])
        #expect(await process.stop() == 0)

        let registration = try await StubRegistration(world, watermark: 5)
        process = try await world.start()
        _ = try await within(.seconds(20)) { await registration.asked.wait { !$0.isEmpty } }
        #expect(await process.stop() == 0)

        let fanout = try await StubFanout(world)
        process = try await world.start()
        let first = try #require(try await fanout.received(1).first)
        #expect(first.watermark == 5)
        #expect(await process.stop() == 0)

        process = try await world.start()
        let again = try await fanout.received(2)
        #expect(again.last?.eventID == first.eventID)
        #expect(try await client.report(first.eventID, to: "a", .more).isOpen)
        #expect(await process.stop() == 0)

        process = try await world.start()
        #expect(try await fanout.received(3).last?.cursor == InstallationID("a"))
        #expect(try await !client.report(first.eventID, from: "a", to: "b", .done).isOpen)
        #expect(await process.stop() == 0)

        process = try await world.start()
        #expect(try await client.publish(alert).map(\.status) == [.duplicate])
        let stored = try await client.event(first.eventID)
        #expect(stored?.state == .fannedOut)
        #expect(stored?.written == 2)
        client.stop()
        await process.stop()
        await fanout.end()
        await registration.server.end()
    }

    @Test func refusesAnImpossibleReport() async throws {
        let world = try IngestWorld()
        defer { world.runtime.stop() }
        let process = try await world.start()
        let client = try world.client()
        let failure = await #expect(throws: BusFailure.self) {
            try await client.report(try id(alert), from: "b", to: "a", .more)
        }
        guard case .rejected(let reject) = failure else {
            Issue.record("not rejected")
            return
        }
        #expect(reject.code == .malformed)
        #expect(reject.pointer == "/to")
        #expect(try await !client.report(try id(alert), .done).isOpen)
        client.stop()
        await process.stop()
    }
}
