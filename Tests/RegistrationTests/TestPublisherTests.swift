import Contracts
import Loop
import RegistrationCore
import RegistrationService
import ServiceKit
import TestKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct TestPublisherTests {
    /// Counts how often it was asked and never has anything.
    private struct EmptyStore: TestStore {
        let looks = Observed(0)

        func requestTest(
            _ request: TestRequest,
            by caller: Caller,
            now: UnixSeconds
        ) async throws -> TestNotification { throw CancellationError() }

        func test(_ id: EventID, of caller: Caller) async throws -> TestNotification? { nil }

        func unsentTests(limit: Int, now: UnixSeconds) async throws -> [TestNotification] {
            looks.update { $0 += 1 }
            return []
        }

        func settleTest(_ id: EventID, _ progress: TestNotification.Progress) async throws {}
    }

    private struct NoSink: EventSink {
        func publish(_ events: EventPublish) async throws -> EventPublishAnswer {
            throw CancellationError()
        }
    }

    @Test func looksForItselfWhenNobodyWakesIt() async {
        let (store, time, stop) = (EmptyStore(), ManualTime(), StopSignal())
        let publisher = TestPublisher(
            store: store,
            sink: NoSink(),
            time: time,
            random: .system,
            log: .silent
        )
        async let end: Void = publisher.run(until: stop)
        await time.waitForSleepers()
        #expect(store.looks.value == 1)
        time.advance(by: .seconds(60))
        _ = await store.looks.wait { $0 == 2 }
        stop.trigger()
        try? await end
    }
}
