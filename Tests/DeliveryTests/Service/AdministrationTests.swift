import Bus
import Contracts
import DeliveryCore
import TestKit
import Testing

/// What an operator asks of a running Delivery.
@Suite(.timeLimit(.minutes(2))) struct AdministrationTests {
    private static let later = StubRelay.Reply(
        outcome: .retryable,
        reason: "TooManyRequests",
        retryAfter: 900_000
    )

    @Test func aRetryWakesTheWorkerAndACancelKeepsItAsleep() async throws {
        try await withWorld(relay: StubRelay { _ in Self.later }) { world in
            let batches = [1, 2].map { Samples.fresh($0, 0..<5, world.time) }
            for batch in batches { _ = try await world.ask(batch) }
            try await world.wait(for: 10, .retryable)
            #expect(world.relay.state.value.messages.count == 10)

            let ended = try await world.ask(
                OutboxCancel(OutboxSelection(eventID: batches[1].eventID))
            )
            #expect(ended == OutboxCancelAnswer(cancelled: 5, held: 0, next: nil))
            world.relay.answer { _ in .accepted }
            #expect(try await world.ask(OutboxRetry(OutboxSelection())).advanced == 5)
            try await world.wait(for: 5, .accepted)
            let receipts = try await world.receipts(ReceiptQuery(state: .permanent))
            #expect(receipts.allSatisfy { $0.reason == Reason.cancelled })
            #expect(receipts.map(\.eventID) == Array(repeating: batches[1].eventID, count: 5))
            #expect(world.relay.state.value.messages.count == 15)
        }
    }

    @Test func aRegistrationReplacedBetweenTwoAttemptsGetsNoSecondOne() async throws {
        try await withWorld(relay: StubRelay { _ in Self.later }) { world in
            _ = try await world.ask(Samples.fresh(1, 0..<2, world.time))
            try await world.wait(for: 2, .retryable)
            world.registration.state.update { $0.ineligible = [Samples.installation(0): .replaced] }
            world.relay.answer { _ in .accepted }
            _ = try await world.ask(OutboxRetry(OutboxSelection()))
            try await world.wait(for: 1, .permanent)
            try await world.wait(for: 1, .accepted)
            let ended = try await world.receipts(ReceiptQuery(state: .permanent))
            #expect(ended.map(\.reason) == ["Ineligible/replaced"])
            #expect(ended.map(\.attempts) == [1])
            #expect(world.relay.state.value.messages.count == 3)
        }
    }

    @Test func whatARelayHasInHandIsNotCancelled() async throws {
        let isHeld = Observed(true)
        let relay = StubRelay { _ in
            await isHeld.wait { !$0 }
            return .accepted
        }
        try await withWorld(relay: relay) { world in
            _ = try await world.ask(Samples.fresh(1, 0..<3, world.time))
            _ = try await within(.seconds(10)) {
                await world.relay.state.wait { !$0.messages.isEmpty }
            }
            let answer = try await world.ask(OutboxCancel(OutboxSelection()))
            #expect((answer.cancelled, answer.held) == (0, 3))
            isHeld.update { $0 = false }
            try await world.wait(for: 3, .accepted)
        }
    }

    @Test func aBackupNamesWhatIsWrongWithItsPlace() async throws {
        try await withWorld { world in
            let copy = world.folder + "/copy.db"
            let answer = try await world.ask(OutboxBackup(path: copy))
            #expect(answer.bytes > 0)
            for (path, text) in [(copy, "exists already"), ("relative", "absolute path")] {
                let failure = await #expect(throws: BusFailure.self) {
                    try await world.ask(OutboxBackup(path: path))
                }
                guard case .rejected(let reject) = failure else {
                    Issue.record("not refused")
                    continue
                }
                #expect(reject.message.contains(text))
            }
        }
    }

    @Test func nothingYoungerThanADayIsPurged() async throws {
        try await withWorld { world in
            _ = try await world.ask(Samples.fresh(1, 0..<3, world.time))
            try await world.wait(for: 3, .accepted)
            #expect(try await world.ask(OutboxPurge(olderThanSeconds: 86_400)).removed == 0)
            await #expect(throws: BusFailure.self) {
                try await world.ask(OutboxPurge(olderThanSeconds: 86_399))
            }
            #expect(try await world.count(.accepted) == 3)
        }
    }
}
