import Contracts
import DeliveryCore
import Testing

@Suite struct ClaimRuleTests {
    @Test func loneCrashesLeadToQuarantine() {
        #expect(
            (0...6).map(CrashRule.init(claims:)) == [
                .together, .together, .alone, .alone, .alone, .quarantine, .quarantine,
            ]
        )
    }

    @Test func turnsShareAndPassOnWhatIsLeft() {
        var turns = FairTurns(limit: 100, events: 4)
        #expect(turns.share() == 25)
        turns.took(1)
        #expect(turns.share() == 33)
        turns.took(33)
        turns.took(33)
        #expect(turns.share() == 33)
        turns.took(33)
        #expect(turns.remaining == 0)
        turns.beginRound(events: 2)
        #expect(turns.share() == 0)
    }

    @Test func onlyTheProvidersOwnVerdictsAreTotalled() {
        func verdict(_ exposure: Exposure, _ cleanup: CleanupKind?) -> RelayVerdicts.Verdict {
            RelayVerdicts.Verdict(
                index: 0,
                outcome: .permanent,
                reason: "x",
                scope: .device,
                exposure: exposure,
                cleanup: cleanup
            )
        }
        var totals = ProviderTotals()
        totals.count(verdict(.answered, .dead), in: .sandbox)
        totals.count(verdict(.answered, .suspect), in: .sandbox)
        totals.count(verdict(.answered, nil), in: .production)
        totals.count(verdict(.none, nil), in: .sandbox)
        totals.count(verdict(.ambiguous, nil), in: .sandbox)
        #expect(
            totals.byEnvironment == [
                "sandbox": .init(verdicts: 2, dead: 1, suspect: 1),
                "production": .init(verdicts: 1),
            ]
        )
    }
}
