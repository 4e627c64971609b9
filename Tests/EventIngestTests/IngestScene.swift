import Bus
import TestKit
import Testing

/// A running EventIngest with a stub on either side and a client, ended in every case.
struct IngestScene {
    let world: IngestWorld
    let registration: StubRegistration
    let fanout: StubFanout
    let process: IngestProcess
    let client: BusClient

    static func run(
        watermark: Int64 = 7,
        isOpen: Bool = true,
        fanout manner: StubFanout.Manner = .taking,
        _ body: (IngestScene) async throws -> Void
    ) async throws {
        let world = try IngestWorld()
        defer { world.runtime.stop() }
        let scene = IngestScene(
            world: world,
            registration: try await StubRegistration(world, watermark: watermark, isOpen: isOpen),
            fanout: try await StubFanout(world, "fanout-a", manner),
            process: try await world.start(),
            client: try world.client()
        )
        do {
            try await body(scene)
        } catch {
            _ = await scene.end()
            throw error
        }
        #expect(await scene.end() == 0)
    }

    /// Ends everything and gives the exit code of the process.
    private func end() async -> Int32 {
        // Questions that still wait at a closed gate are answered, so that the stub can end.
        registration.gate.update { $0 = true }
        client.stop()
        let code = await process.stop()
        await fanout.end()
        await registration.server.end()
        return code
    }
}
