import ServiceKit
import Testing

/// Long random sequences of events, late and lost answers and restarts against the rules of the state.
@Suite struct RandomLifeTests {
    @Test(arguments: 1...40) func theRulesHold(seed: UInt64) throws {
        var life = RandomLife(random: .seeded(seed))
        try life.run(steps: 1500)
        #expect(life.seen.count >= 11, "\(life.seen.sorted())")
        #expect(life.number > 10)
    }
}
