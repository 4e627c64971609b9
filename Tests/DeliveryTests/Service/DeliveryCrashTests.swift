import Contracts
import DeliveryService
import Glibc
import ServiceKit
import TestKit
import Testing

@Suite(.timeLimit(.minutes(2))) struct DeliveryCrashTests {
    /// The child dies with messages at the relay and nothing committed about them.
    @Test func whatWasHandedOffSurvivesKill9() async throws {
        let folder = try TemporaryDirectory()
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
            let relay = StubRelay { _ in
                kill(getpid(), SIGKILL)
                return .accepted
            }
            let world = try DeliveryWorld(folder: path, relay: relay)
            let peers = [try await world.startRegistration(), try await world.startRelay()]
            let delivery = try await world.startDelivery()
            _ = try await world.ask(Samples.fresh(1, 0..<40, world.time))
            await world.relay.state.wait { $0.messages.count > 1000 }
            try await delivery.stop()
            for peer in peers { try await peer.stop() }
        }
        let world = try DeliveryWorld(folder: folder.path)
        let peers = [try await world.startRegistration(), try await world.startRelay()]
        let delivery = try await world.startDelivery()
        try await world.wait(for: 40, .accepted)
        #expect(world.relay.state.value.messages.count == 40)
        try await delivery.stop()
        for peer in peers { try await peer.stop() }
    }
}
