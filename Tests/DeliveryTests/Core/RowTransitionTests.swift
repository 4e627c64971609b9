import Contracts
import DeliveryCore
import Testing

@Suite struct RowTransitionTests {
    private let now = UnixMilliseconds(1_000_000)
    private let row = StoredRow(
        state: .retryable,
        generation: 3,
        attempts: 2,
        expiresAt: UnixSeconds(1800)
    )

    private func transition(
        _ change: RowChange,
        generation: Int64 = 3,
        on row: StoredRow? = nil,
        now: UnixMilliseconds? = nil
    ) -> RowTransition {
        RowTransition.of(
            RowOutcome(rowID: 1, generation: generation, change: change),
            on: row ?? self.row,
            now: now ?? self.now
        )
    }

    @Test func acceptanceClosesWhateverTheGeneration() {
        for generation: Int64 in [1, 3, 9] {
            #expect(
                transition(.accepted, generation: generation)
                    == .end(.accepted, reason: nil, attempts: 3)
            )
        }
    }

    @Test(arguments: [
        RowChange.permanent(reason: "Unregistered", isAttempt: true), .expired,
        .retry(reason: "x", delayMilliseconds: 1, isAttempt: true),
    ])
    func everythingElseNeedsTheCurrentGeneration(_ change: RowChange) {
        #expect(transition(change, generation: 2) == .ignore(.lapsed))
        #expect(transition(change, generation: 4) == .ignore(.lapsed))
        #expect(transition(change, generation: 3) != .ignore(.lapsed))
    }

    @Test(arguments: [ReceiptState.accepted, .permanent, .expired])
    func terminalStaysTerminal(_ state: ReceiptState) {
        var ended = row
        ended.state = state
        #expect(transition(.accepted, on: ended) == .ignore(.ended))
        #expect(transition(.expired, on: ended) == .ignore(.ended))
        #expect(
            transition(.retry(reason: "x", delayMilliseconds: 1, isAttempt: false), on: ended)
                == .ignore(.ended)
        )
    }

    @Test func anUnknownRowIsIgnored() {
        let outcome = RowOutcome(rowID: 1, generation: 1, change: .accepted)
        #expect(RowTransition.of(outcome, on: nil, now: now) == .ignore(.unknownRow))
    }

    @Test func aFailedAttemptCountsAndWaits() {
        #expect(
            transition(.retry(reason: "x", delayMilliseconds: 5000, isAttempt: true))
                == .wait(
                    .retryable,
                    reason: "x",
                    attempts: 3,
                    due: UnixMilliseconds(1_005_000)
                )
        )
    }

    @Test func whatNeverReachedTheProviderStaysPending() {
        var fresh = row
        fresh.state = .pending
        fresh.attempts = 0
        #expect(
            transition(.retry(reason: "x", delayMilliseconds: 0, isAttempt: false), on: fresh)
                == .wait(.pending, reason: "x", attempts: 0, due: now)
        )
    }

    @Test func aWaitNeverReachesPastTheEnd() {
        #expect(
            transition(.retry(reason: "x", delayMilliseconds: .max, isAttempt: true))
                == .wait(
                    .retryable,
                    reason: "x",
                    attempts: 3,
                    due: UnixMilliseconds(1_800_000)
                )
        )
        #expect(
            transition(
                .retry(reason: "x", delayMilliseconds: 1, isAttempt: true),
                now: UnixMilliseconds(1_800_000)
            ) == .end(.expired, reason: Reason.expired, attempts: 3)
        )
    }
}
