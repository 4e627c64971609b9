import Bus
import Contracts
import Loop
import RegistrationCore
import ServiceKit

/// Where events are handed in.
package protocol EventSink: Sendable {
    func publish(_ events: EventPublish) async throws -> EventPublishAnswer
}

/// Hands events to EventIngest.
package struct IngestEvents: EventSink {
    private let client: BusClient

    package init(client: BusClient) { self.client = client }

    package func publish(_ events: EventPublish) async throws -> EventPublishAnswer {
        try await client.ask(events, timeout: .seconds(10), resendEvery: .seconds(3))
    }
}

/// Publishes committed test notifications until EventIngest has acknowledged each, also after a
/// restart. EventIngest knows a repeat by its id.
package final class TestPublisher: Service {
    package let name = "test-publisher"
    /// Events of one message.
    private static let batch = 64
    private let store: any TestStore
    private let sink: any EventSink
    private let time: any TimeSource
    private let log: Log
    private let random: RandomSource
    private let bell = WakeSignal()
    /// Looks for unsent tests this often without being woken.
    private static let idleInterval = Duration.seconds(60)

    package init(
        store: any TestStore,
        sink: any EventSink,
        time: any TimeSource,
        random: RandomSource,
        log: Log
    ) {
        self.store = store
        self.sink = sink
        self.time = time
        self.random = random
        self.log = log
    }

    /// Makes it look for unsent tests now.
    package func wake() {
        bell.signal()
    }

    package func run(until stop: StopSignal) async throws {
        await withTaskGroup { group in
            group.addTask { await self.publishForEver() }
            await stop.wait()
            group.cancelAll()
        }
    }

    private func publishForEver() async {
        let backoff = Backoff(base: .seconds(1), cap: .seconds(30))
        var failures = 0
        while !Task.isCancelled {
            do {
                let tests = try await store.unsentTests(
                    limit: Self.batch,
                    now: time.wall.second
                )
                if tests.isEmpty {
                    failures = 0
                    await bell.wait(atMost: Self.idleInterval, time: time)
                    continue
                }
                if try await publish(tests) {
                    failures = 0
                    continue
                }
            } catch {
                if Task.isCancelled { return }
                log.warning("tests not published yet", ["error": .error(error)])
            }
            failures += 1
            try? await time.sleep(for: backoff.delay(attempt: failures, random: random))
        }
    }

    /// True when every one of them was settled.
    private func publish(_ tests: [TestNotification]) async throws -> Bool {
        let events = tests.map { Self.event($0) }
        let answer = try await sink.publish(EventPublish(events: events))
        guard answer.results.count == tests.count else {
            log.error("EventIngest answered for another number of events")
            return false
        }
        var complete = true
        for (test, result) in zip(tests, answer.results) {
            switch result.status {
            case .accepted, .duplicate:
                try await store.settleTest(test.eventID, .published)
            case .conflict, .invalid:
                log.error(
                    "EventIngest refuses a test",
                    ["event": .text(test.eventID), "reason": .string(result.reason ?? "")]
                )
                let reason = result.status == .conflict ? "Conflict" : "InvalidRequest"
                try await store.settleTest(test.eventID, .refused(reason: reason))
            case .retryAfter:
                complete = false
            }
        }
        return complete
    }

    /// The CloudEvent of a test; the same test gives the same event.
    static func event(_ test: TestNotification) -> JSONValue {
        .object([
            "specversion": .string("1.0"),
            "id": .string(test.eventID.description),
            "source": .string("urn:pushbus:registration"),
            "type": .string(EventType.testRequested.rawValue),
            "time": .string(test.createdAt.start.rfc3339),
            "expirytime": .string(test.expiresAt.start.rfc3339),
            "data": .object([
                "event_id": .string(test.eventID.description),
                "installation_id": .string(test.installationID.text),
            ]),
        ])
    }
}
