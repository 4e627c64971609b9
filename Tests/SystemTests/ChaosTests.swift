import Contracts
import FoundationEssentials
import ServiceKit
import TestKit
import Testing
import Topology

/// Services die at random, by seed, while events are published; then the history is checked.
///
/// `script/chaos` runs it with many kills; here a few keep it honest.
@Suite("Chaos", .serialized)
struct ChaosTests {
    static let kills = number("PUSHBUS_CHAOS_KILLS", 8)
    static let seed = number("PUSHBUS_CHAOS_SEED", 20_260_101)
    private static let eventsPerKill = 4

    @Test("random kills lose nothing and repeat nothing under another id")
    func randomKills() async throws {
        try await World.run(limit: .seconds(120 + 3 * Self.kills)) { world in
            var phones: [TestPhone] = []
            for number in 0..<3 { phones.append(try await world.phone("user\(number)")) }
            let random = RandomSource.seeded(UInt64(Self.seed))
            let supervisor = world.running.supervisor
            var events: [EventID] = []
            var killed: [PushBusService: Int] = [:]
            for round in 0..<Self.kills {
                let service = PushBusService.allCases[
                    Int(random.uniform(below: UInt64(PushBusService.allCases.count)))
                ]
                let name = world.running.topology.processName(of: service)
                // The publishes are under way while the process dies; how far they are is chance.
                async let published = publish(round, to: world)
                for _ in 0..<random.uniform(below: 2_000) { await Task.yield() }
                _ = await supervisor.kill(name)
                try supervisor.start(name)
                killed[service, default: 0] += 1
                events += try await published
                guard await supervisor.waitUntilReady(name) else {
                    throw SystemTestFailure("\(name) did not come back")
                }
            }
            let history = History(world: world, phones: phones)
            try await history.check(events)
            let repeats = try await history.repeats()
            let counts = killed.map { "\($0.key.rawValue) \($0.value)" }.sorted()
            print(
                "chaos: seed \(Self.seed), \(Self.kills) kills (\(counts.joined(separator: ", "))), "
                    + "\(events.count) events, \(events.count * phones.count) rows, 0 lost, "
                    + "\(repeats) repeats, all under their first apns-id"
            )
        }
    }

    private func publish(_ round: Int, to world: World) async throws -> [EventID] {
        let first = round * Self.eventsPerKill
        return try await world.publish(
            (first..<first + Self.eventsPerKill).map { number in
                number.isMultiple(of: 2) ? Alerts.triggered(number) : Alerts.resolved(number - 1)
            }
        )
    }

    private static func number(_ name: String, _ fallback: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap(Int.init) ?? fallback
    }
}
