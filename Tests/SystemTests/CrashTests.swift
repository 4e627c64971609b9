import Contracts
import ServiceKit
import TestKit
import Testing
import Topology

/// kill -9 of each service under load loses nothing.
@Suite("Crashes", .serialized)
struct CrashTests {
    @Test("each service may die under load", arguments: PushBusService.allCases)
    func killUnderLoad(service: PushBusService) async throws {
        try await World.run { world in
            let phones = try await withPhones(4, in: world)
            // Publishing goes on in small batches while the process dies and comes back.
            let publisher = Task {
                var events: [EventID] = []
                for batch in 0..<30 {
                    events += try await world.publish(
                        (0..<5).map { Alerts.triggered(batch * 5 + $0) }
                    )
                }
                return events
            }
            try await waitForTraffic(world, phones)
            try await world.killAndRestart(service)
            let events = try await publisher.value
            #expect(Set(events).count == 150)
            try await History(world: world, phones: phones).check(events)
        }
    }

    @Test("trigger and recovery survive the death of everything at once")
    func killAll() async throws {
        try await World.run { world in
            let phones = try await withPhones(2, in: world)
            let events = try await world.publish(
                (0..<10).flatMap { [Alerts.triggered($0), Alerts.resolved($0)] }
            )
            for service in PushBusService.allCases {
                _ = await world.running.supervisor.kill(
                    world.running.topology.processName(of: service)
                )
            }
            for service in PushBusService.allCases {
                try world.running.supervisor.start(
                    world.running.topology.processName(of: service)
                )
            }
            try await History(world: world, phones: phones).check(events)
        }
    }

    private func withPhones(_ count: Int, in world: World) async throws -> [TestPhone] {
        var phones: [TestPhone] = []
        for number in 0..<count { phones.append(try await world.phone("user\(number)")) }
        return phones
    }

    /// Returns once pushes arrive, so that the kill hits running work.
    private func waitForTraffic(_ world: World, _ phones: [TestPhone]) async throws {
        guard let phone = phones.first else { return }
        let history = History(world: world, phones: phones)
        while try await history.received(by: phone).isEmpty { try Task.checkCancellation() }
    }
}
