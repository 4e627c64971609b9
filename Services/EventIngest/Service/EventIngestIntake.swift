import Bus
import Loop
import ServiceKit

/// Answers the bus, and says when it does.
struct EventIngestIntake: Service {
    let name = "intake"
    let server: BusServer
    let readiness: Readiness
    let ports: BoundPorts

    func run(until stop: StopSignal) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run(until: stop) }
            if let endpoint = await server.bound() {
                if case .tcp(_, let port) = endpoint.transport { ports.set("bus", port) }
                readiness.set("bus", .ok)
            }
            try await group.waitForAll()
            readiness.set("bus", .waiting("the endpoint is closed"))
        }
    }
}
