import Bus
import Contracts
import EventIngestService
import ServiceKit
import Storage
import TestKit
import Testing

/// What the process says about itself while its store cannot take events.
@Suite struct ReadinessTests {
    @Test func isNotReadyWhileAsManyEventsWaitAsMay() async throws {
        let world = try IngestWorld()
        defer { world.runtime.stop() }
        let registration = try await StubRegistration(world)
        let fanout = try await StubFanout(world)
        var settings = world.settings
        settings.limits.openEvents = 1
        let process = try await world.start(settings)
        let client = try world.client()
        let events = ["a", "b"].map { EventSamples.alert(id: $0, rule: $0) }
        let results = try await client.publish(events[0], events[1])
        #expect(results.map(\.status) == [.accepted, .retryAfter])
        let readiness = process.context.readiness
        #expect(!readiness.isReady)
        #expect(
            readiness.conditions.contains { $0.name == "room" && $0.standing != .ok }
        )
        let handed = try #require(try await fanout.received(1).first)
        _ = try await client.report(handed.eventID, .done)
        try await world.advance(by: .seconds(1))
        _ = try await within(.seconds(20)) { await readiness.waitUntilStarted() }
        #expect(readiness.isReady)
        #expect(try await client.publish(events[1]).map(\.status) == [.accepted])
        client.stop()
        #expect(await process.stop() == 0)
        await fanout.end()
        await registration.server.end()
    }
}
