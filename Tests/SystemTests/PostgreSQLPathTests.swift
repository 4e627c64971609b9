import Contracts
import FoundationEssentials
import ServiceKit
import TestKit
import Testing
import Topology

/// The whole path with real processes whose stores are in one PostgreSQL server.
@Suite("Stores in one PostgreSQL server", .serialized)
struct PostgreSQLPathTests {
    @Test("an immediate shutdown of the server under load loses nothing")
    func shutdown() async throws {
        let server = try PostgreSQLServer()
        defer { server.stop() }
        let url = try server.database()
        try await World.run({
            $0.database = url
            $0[.delivery].instances = 2
        }) { world in
            let phones = [try await world.phone("alice"), try await world.phone("bob")]
            let history = History(world: world, phones: phones)
            let first = try await world.publish([Alerts.triggered(1000), Alerts.resolved(1000)])
            try await history.check(first)
            let publisher = Task {
                var events: [EventID] = []
                for batch in 0..<20 {
                    events += try await world.publishPersistently(
                        (0..<5).map { Alerts.triggered(batch * 5 + $0) }
                    )
                }
                return events
            }
            while try await history.received(by: phones[0]).count < 3 {
                try Task.checkCancellation()
            }
            server.stop()
            try server.start()
            let events = try await publisher.value
            #expect(Set(events).count == 100)
            try await world.waitForStores()
            try await history.check(first + events)
        }
        let schemas = try server.sql(
            "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'pushbus%' ORDER BY 1",
            in: String(url.split(separator: "/").last ?? "")
        )
        #expect(
            schemas.split(separator: "\n") == [
                "pushbus_delivery", "pushbus_eventingest", "pushbus_registration",
            ]
        )
    }

    @Test("a second process of an owned store is refused, and says why")
    func secondOwner() async throws {
        let url = try PostgreSQLServer.shared.get().database()
        try await World.run({ $0.database = url }) { world in
            for service in [PushBusService.registration, .eventIngest] {
                var other = world.running.topology
                other.output = .files
                let name = other.processName(of: service)
                var plan = try #require(try other.processes().first { $0.name == name })
                let log = world.directory.file("second-\(name).log")
                plan.name = "second-\(name)"
                plan.output = .file(log)
                plan.restart = .never
                plan.environment[service.variablePrefix + "BIND"] =
                    "ipc://\(world.directory.file("second-\(name).sock"))"
                plan.readyFile = world.directory.file("second-\(name).ready")
                plan.environment[service.variablePrefix + "READY_FILE"] = plan.readyFile
                let supervisor = try Supervisor(log: .silent)
                try supervisor.add([plan])
                try supervisor.start(plan.name)
                #expect(await !supervisor.waitUntilReady(plan.name))
                await supervisor.stopAll()
                let text = try String(contentsOfFile: log, encoding: .utf8)
                #expect(text.contains("another process owns pushbus_\(service.rawValue)"))
            }
        }
    }
}

extension World {
    /// Publishes alerts as an integrator does who is asked to come again.
    func publishPersistently(_ events: [CloudEvent<AlertEventData>]) async throws -> [EventID] {
        while true {
            try Task.checkCancellation()
            if let ids = try? await publish(events) { return ids }
        }
    }

    /// Returns once every service reads its store again.
    func waitForStores() async throws {
        while true {
            try Task.checkCancellation()
            do {
                _ = try await ask(.registration, AudienceOpen())
                _ = try await ask(.eventIngest, EventQuery())
                _ = try await ask(.delivery, OutboxStatus())
                return
            } catch {
                continue
            }
        }
    }
}
