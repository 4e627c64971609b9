import Contracts
import FoundationEssentials
import Glibc
import ServiceKit
import TestKit
import Testing
import Topology

/// Services die, stall and lose their links at random under load; `script/chaos` runs it long.
///
/// All links are tcp with CURVE, each through a fault proxy. A failed run is repeated with its seed.
@Suite("Chaos", .serialized)
struct ChaosTests {
    static let kills = number("PUSHBUS_CHAOS_KILLS", 8)
    static let seed = number("PUSHBUS_CHAOS_SEED", 20_260_101)

    @Test("random kills, stalls and broken links lose nothing and repeat under one id only")
    func randomBlows() async throws {
        let limit = Duration.seconds(180 + 4 * Self.kills)
        let database =
            ProcessInfo.processInfo.environment["PUSHBUS_CHAOS_STORE"] == "postgresql"
            ? try PostgreSQLServer.shared.get().database() : nil
        try await World.run(
            { $0[.delivery].environment["PUSHBUS_DELIVERY_STORE"] = database },
            limit: limit,
            isOverTCP: true
        ) { world in
            var phones: [TestPhone] = []
            for number in 0..<3 { phones.append(try await world.phone("user\(number)")) }
            let start = SystemTime().monotonic
            var chaos = Chaos(world: world, random: .seeded(UInt64(Self.seed)))
            // The first rounds show every kind of blow once, however few there are.
            for blow in Blow.allCases where blow != .kill { try await chaos.strike(blow) }
            for _ in 0..<Self.kills {
                if chaos.random.uniform(below: 8) == 0 { try await chaos.strikeOtherwise() }
                try await chaos.strike(.kill)
            }
            let struck = start.duration(to: SystemTime().monotonic)
            let history = History(world: world, phones: phones)
            let findings = try await history.check(chaos.events)
            let blows = chaos.blows.map { "\($0.key) \($0.value)" }.sorted()
            let minutes = max(0.01, Double(struck.components.seconds) / 60)
            print(
                "chaos: seed \(Self.seed), \(blows.joined(separator: ", ")); \(chaos.events.count) "
                    + "events, \(chaos.events.count * phones.count) rows, \(findings); "
                    + "\(Int(Double(chaos.blows.values.reduce(0, +)) / minutes)) blows a minute"
            )
        }
    }

    private static func number(_ name: String, _ fallback: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap(Int.init) ?? fallback
    }
}

/// What happens to a service or to the link before it.
enum Blow: String, CaseIterable {
    case kill
    /// Killed three times, the later times while it starts.
    case storm
    /// Stopped by SIGSTOP while the others work, then continued.
    case stall
    /// Everything comes late.
    case delay
    /// The connection looks open and nothing comes through it.
    case halfOpen = "half-open"
    /// Connections are reset, and what is under way is lost.
    case reset
    /// A kilobyte a second.
    case trickle
    /// Frames come in pieces of three bytes.
    case split
}

/// One run of blows in a world.
struct Chaos {
    let world: World
    let random: RandomSource
    private(set) var events: [EventID] = []
    private(set) var blows: [String: Int] = [:]
    private var rounds = 0

    private static let eventsPerBlow = 4

    init(world: World, random: RandomSource) {
        self.world = world
        self.random = random
    }

    /// A blow other than a kill.
    mutating func strikeOtherwise() async throws {
        let others = Blow.allCases.filter { $0 != .kill }
        try await strike(others[Int(random.uniform(below: UInt64(others.count)))])
    }

    /// Publishes while the blow falls; how far the events are then is chance.
    mutating func strike(_ blow: Blow) async throws {
        let service = PushBusService.allCases[
            Int(random.uniform(below: UInt64(PushBusService.allCases.count)))
        ]
        let first = rounds * Self.eventsPerBlow
        rounds += 1
        let world = world
        let isPublished = Observed(false)
        let publisher = Task {
            defer { isPublished.update { $0 = true } }
            return try await world.publish(
                (first..<first + Self.eventsPerBlow).map { number in
                    number.isMultiple(of: 2)
                        ? Alerts.triggered(number) : Alerts.resolved(number - 1)
                }
            )
        }
        for _ in 0..<random.uniform(below: 2_000) { await Task.yield() }
        // A fault lasts until the events are taken in all the same, at most two seconds.
        let whileItLasts: @Sendable () async -> Void = {
            _ = try? await within(.seconds(2)) { await isPublished.wait { $0 } }
        }
        try await fall(blow, on: service, whileItLasts)
        blows[blow.rawValue, default: 0] += 1
        events += try await publisher.value
    }

    private func fall(
        _ blow: Blow,
        on service: PushBusService,
        _ whileItLasts: @Sendable () async -> Void
    ) async throws {
        let supervisor = world.running.supervisor
        let name = world.running.topology.processName(of: service)
        switch blow {
        case .kill: try await world.killAndRestart(service)
        case .storm:
            for _ in 0..<2 {
                await supervisor.kill(name)
                try supervisor.start(name)
                for _ in 0..<random.uniform(below: 5_000) { await Task.yield() }
            }
            try await world.killAndRestart(service)
        case .stall:
            supervisor.signal(name, SIGSTOP)
            await whileItLasts()
            supervisor.signal(name, SIGCONT)
        case .delay, .halfOpen, .reset, .trickle, .split:
            for proxy in world.proxies(of: service) {
                await proxy.set { Self.faults(&$0, blow) }
                if blow == .reset { await proxy.dropConnections() }
            }
            await whileItLasts()
            for proxy in world.proxies(of: service) {
                await proxy.set { $0 = FaultProxy.Faults() }
                if blow == .halfOpen { await proxy.dropConnections() }
            }
        }
    }

    private static func faults(_ faults: inout FaultProxy.Faults, _ blow: Blow) {
        switch blow {
        case .delay: faults.delay = .milliseconds(100)
        case .halfOpen: faults.swallows = true
        case .reset: faults.resets = true
        case .trickle:
            faults.pieceBytes = 100
            faults.delay = .milliseconds(100)
        case .split: faults.pieceBytes = 3
        case .kill, .storm, .stall: break
        }
    }
}
