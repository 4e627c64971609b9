import Bus
import Contracts
import DeliveryService
import Storage
import TestKit
import Testing

/// Several Delivery processes on one PostgreSQL outbox.
@Suite(.timeLimit(.minutes(2))) struct DeliveryScalingTests {
    @Test func twoOfOneNameShareTheWork() async throws {
        let store = try PostgreSQLServer.shared.get().database()
        try await withWorld(settings: ["PUSHBUS_DELIVERY_STORE": store]) { world in
            let second = try await world.startDelivery([
                "PUSHBUS_DELIVERY_STORE": store,
                "PUSHBUS_DELIVERY_BIND": try world.endpoint("delivery-2").address,
            ])
            for event in 0..<6 {
                let batch = Samples.fresh(event, 0..<300, world.time)
                #expect(try await world.ask(batch).accepted == 300)
            }
            try await world.wait(for: 1800, .accepted)
            try await second.stop()
            let sent = world.relay.state.value.messages
            #expect(sent.count == 1800)
            #expect(Set(sent.map { "\($0.eventID) \($0.deviceToken.hex)" }).count == 1800)
        }
    }

    @Test func whatAnotherHandedBackIsSent() async throws {
        let store = try PostgreSQLServer.shared.get().database()
        let folder = try TemporaryDirectory()
        let world = try DeliveryWorld(folder: folder.path)
        let registration = try await world.startRegistration()
        let settings = ["PUSHBUS_DELIVERY_STORE": store]
        // Without a relay the first only keeps what it is given, and stops.
        let first = try await world.startDelivery(settings)
        #expect(try await world.ask(Samples.fresh(1, 0..<40, world.time)).accepted == 40)
        try await first.stop()
        let relay = try await world.startRelay()
        let second = try await world.startDelivery(settings)
        try await world.wait(for: 40, .accepted)
        for running in [second, relay, registration] { try await running.stop() }
    }

    @Test func endedSessionsDelayOnly() async throws {
        let server = try PostgreSQLServer.shared.get()
        let store = try server.database()
        let name = store.split(separator: "/").last.map(String.init) ?? ""
        try await withWorld(settings: ["PUSHBUS_DELIVERY_STORE": store]) { world in
            for event in 0..<10 {
                try server.sql(
                    """
                    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                    WHERE datname = '\(name)'
                    """
                )
                while true {
                    do {
                        _ = try await world.ask(Samples.fresh(event, 0..<20, world.time))
                        break
                    } catch { try Task.checkCancellation() }
                }
            }
            try await world.wait(for: 200, .accepted)
        }
    }
}
