import Bus
import Loop
import ServiceKit

/// Serves the endpoint and says when it is bound.
struct DeliveryIntake: Service {
    let name = "intake"
    let server: BusServer
    let readiness: Readiness

    func run(until stop: StopSignal) async throws {
        try await withThrowingTaskGroup { group in
            group.addTask { try await server.run(until: stop) }
            group.addTask {
                if await server.bound() != nil { readiness.set("bus", .ok) }
            }
            try await group.waitForAll()
        }
    }
}
