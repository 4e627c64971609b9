import Bus
import Contracts
import Testing

@Suite struct SendWithinTests {
    @Test func aRequestThatNoPeerTakesInTimeIsNeverSent() async throws {
        let world = try BusWorld()
        let client = try world.client()
        let failure = await #expect(throws: BusFailure.self) {
            try await client.stream(
                Echo("stale"),
                timeout: .seconds(60),
                sendWithin: .milliseconds(10)
            ) { _ in false }
        }
        guard case .rejected(let reject) = failure else {
            Issue.record("not refused")
            return
        }
        #expect(reject.code == .retryAfter)
        #expect(world.count("pushbus_bus_sent_total{client=\"client\"}") == 0)
        client.stop()
    }

    @Test(arguments: [Duration.zero, .seconds(-3)])
    func aRequestThatIsTooLateIsNotSentThoughAWindowIsOpen(_ sendWithin: Duration) async throws {
        let world = try BusWorld()
        try await world.serving(try world.server()) { _ in
            let client = try world.client()
            #expect(await client.waitUntilConnected())
            await #expect(throws: BusFailure.self) {
                try await client.stream(
                    Echo("late"),
                    timeout: .seconds(60),
                    sendWithin: sendWithin
                ) { _ in false }
            }
            #expect(world.count("pushbus_bus_sent_total{client=\"client\"}") == 0)
            client.stop()
        }
    }

    @Test func aRequestThatWasTakenIsNotGivenUp() async throws {
        let world = try BusWorld()
        try await world.serving(try world.server()) { _ in
            let client = try world.client()
            var answers: [EchoAnswer] = []
            try await client.stream(
                Echo("fresh"),
                timeout: .seconds(60),
                sendWithin: .seconds(30)
            ) { answer in
                answers.append(answer)
                return false
            }
            #expect(answers == [EchoAnswer("fresh")])
            client.stop()
        }
    }
}
