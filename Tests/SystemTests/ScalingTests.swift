import Contracts
import Glibc
import TestKit
import Testing
import Topology

/// Several processes of Fanout, Delivery and Relay work on one PostgreSQL outbox; they join, leave,
/// die and stall, and nothing is lost.
@Suite("Several processes of a service", .serialized)
struct ScalingTests {
    private static let lease = 10

    @Test("join, leave, die and stall without loss", arguments: [false, true])
    func changes(isOverTCP: Bool) async throws {
        let database = try PostgreSQLServer.shared.get().database()
        try await World.run(
            { topology in
                topology.sharesEndpoints = !isOverTCP
                for service in [PushBusService.fanout, .delivery, .relay] {
                    topology[service].instances = 3
                }
                topology[.delivery].environment["PUSHBUS_DELIVERY_STORE"] = database
                topology[.delivery].environment["PUSHBUS_DELIVERY_LEASE_SECONDS"] = "\(Self.lease)"
            },
            isOverTCP: isOverTCP
        ) { world in
            var phones: [TestPhone] = []
            for number in 0..<3 { phones.append(try await world.phone("user\(number)")) }
            let history = History(world: world, phones: phones)
            let supervisor = world.running.supervisor
            var events = try await publish(0, world)
            try await history.check(events)

            for service in [PushBusService.fanout, .delivery, .relay] {
                // One leaves in order, one dies, while events come in.
                let (second, third) = ("\(service.rawValue)-2", "\(service.rawValue)-3")
                let number = events.count
                async let published = publish(number, world)
                #expect(await supervisor.stop(third) == .exited(0))
                await supervisor.kill(second)
                events += try await published
                try await history.check(events)
                // They join again; nobody else is started anew.
                for name in [second, third] {
                    try supervisor.start(name)
                    #expect(await supervisor.waitUntilReady(name))
                }
                events += try await publish(events.count, world)
                try await history.check(events)
            }
            events += try await stall(world, history, events)
            for service in PushBusService.allCases {
                #expect(supervisor.starts(of: service.rawValue) == 1)
            }
        }
    }

    /// One Delivery stands still for longer than a lease; the others take over what it holds, and what
    /// it says about it afterwards changes nothing.
    private func stall(
        _ world: World,
        _ history: History,
        _ before: [EventID]
    ) async throws -> [EventID] {
        let supervisor = world.running.supervisor
        let number = before.count
        async let published = publish(number, world)
        supervisor.signal("delivery", SIGSTOP)
        let events = try await published
        try await history.check(before + events)
        supervisor.signal("delivery", SIGCONT)
        let later = try await publish(number + events.count, world)
        try await history.check(before + events + later)
        return events + later
    }

    private func publish(_ first: Int, _ world: World) async throws -> [EventID] {
        var events: [EventID] = []
        for batch in 0..<4 {
            events += try await world.publish(
                (0..<5).map { Alerts.triggered(first + batch * 5 + $0) }
            )
        }
        return events
    }

    @Test("more than one Delivery on SQLite is refused with what to do")
    func onSQLite() throws {
        let directory = try TemporaryDirectory()
        var topology = try Topology(directory: directory.path, executables: "/")
        topology[.delivery].instances = 2
        let error = #expect(throws: TopologyError.self) { try topology.processes() }
        #expect(error?.description.contains("PUSHBUS_DELIVERY_STORE=postgresql://") == true)
        topology[.delivery].environment["PUSHBUS_DELIVERY_STORE"] = "postgresql://db/pushbus"
        #expect(try topology.processes().count == 6)
    }
}
