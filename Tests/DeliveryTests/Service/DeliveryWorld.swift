import Bus
import Contracts
import DeliveryService
import Loop
import ServiceKit
import TestKit

/// One Delivery process's services, stub peers and a sender, over a real bus in a folder.
final class DeliveryWorld: Sendable {
    let folder: String
    let time: any TimeSource
    let registration = StubRegistration()
    let relay: StubRelay
    let logs = LogCollector()
    let runtime: BusRuntime
    let metrics = Metrics()

    init(
        folder: String,
        time: any TimeSource = SystemTime(),
        relay: StubRelay = StubRelay()
    ) throws {
        self.folder = folder
        self.time = time
        self.relay = relay
        runtime = try BusRuntime(name: "stubs", log: .silent)
    }

    deinit { runtime.stop() }

    func endpoint(_ name: String) throws -> BusEndpoint {
        try BusEndpoint(parsing: "ipc://\(folder)/\(name).sock")
    }

    var storePath: String { folder + "/outbox.db" }

    // MARK: - Running

    /// Services that run until stopped, last started first.
    struct Running: Sendable {
        let tasks: [(stop: StopSignal, task: Task<Void, any Error>)]

        func stop() async throws {
            for (stop, task) in tasks.reversed() {
                stop.trigger()
                try await task.value
            }
        }
    }

    func start(_ services: [any Service]) -> Running {
        Running(
            tasks: services.map { service in
                let stop = StopSignal()
                return (stop, Task { try await service.run(until: stop) })
            }
        )
    }

    func startServer(_ name: String, _ routes: BusRoutes) async throws -> Running {
        let server = try BusServer(
            runtime: runtime,
            name: name,
            endpoint: try endpoint(name),
            routes: routes,
            metrics: Metrics(),
            log: .silent
        )
        let running = start([server])
        _ = await server.bound()
        return running
    }

    func startRegistration() async throws -> Running {
        try await startServer("registration", registration.routes())
    }

    func startRelay() async throws -> Running { try await startServer("relay", relay.routes()) }

    /// The stub at `POST /v1/send` over TLS, and the settings by which Delivery finds it.
    func startRelay(
        over endpoint: HTTPSRelay
    ) async throws -> (settings: [String: String], stop: @Sendable () async -> Void) {
        let server = try await endpoint.start(in: folder)
        return (
            [
                "PUSHBUS_DELIVERY_RELAY": "",
                "PUSHBUS_DELIVERY_RELAY_URL": "https://127.0.0.1:\(server.port)",
                "PUSHBUS_DELIVERY_RELAY_CA_FILE": folder + "/ca.pem",
            ], server.stop
        )
    }

    func startDelivery(_ more: [String: String] = [:]) async throws -> Running {
        var reader = EnvironmentReader(
            prefix: "PUSHBUS_DELIVERY_",
            values: [
                "PUSHBUS_DELIVERY_BIND": try endpoint("delivery").address,
                "PUSHBUS_DELIVERY_REGISTRATION": try endpoint("registration").address,
                "PUSHBUS_DELIVERY_RELAY": try endpoint("relay").address,
                "PUSHBUS_DELIVERY_STORE": "sqlite:" + storePath,
            ].merging(more) { _, new in new }
        )
        let context = ProcessContext(
            name: "delivery",
            log: logs.log(),
            metrics: metrics,
            time: time,
            random: .seeded(7)
        )
        let assembly = try await DeliveryAssembly.build(try DeliverySettings(&reader), context)
        let running = start(assembly.services)
        _ = await context.readiness.waitUntilStarted()
        return running
    }

    // MARK: - Asking

    func ask<Request: BusRequest>(_ request: Request) async throws -> Request.Answer {
        let client = try BusClient(
            runtime: runtime,
            name: "sender",
            endpoints: .fixed([try endpoint("delivery")]),
            metrics: Metrics(),
            log: .silent
        )
        defer { client.stop() }
        return try await client.ask(request, timeout: .seconds(10))
    }

    func receipts(_ query: ReceiptQuery = ReceiptQuery()) async throws -> [ReceiptQueryAnswer
        .Receipt]
    {
        try await ask(query).receipts
    }

    func count(_ state: ReceiptState) async throws -> Int64 {
        try await ask(OutboxStatus()).states.first { $0.state == state }?.rows ?? -1
    }

    /// Asks until the outbox has this many rows of a state.
    func wait(for rows: Int64, _ state: ReceiptState) async throws {
        try await within(.seconds(30)) {
            while try await self.count(state) != rows {}
        }
    }

    /// Moves a manual clock second by second until the condition holds.
    func advance(until condition: @escaping @Sendable () async throws -> Bool) async throws {
        guard let time = time as? ManualTime else { return }
        try await within(.seconds(60)) {
            while try await !condition() {
                // Sweeper, clean-ups and the worker's own wait.
                await time.waitForSleepers(3)
                time.advance(by: .seconds(1))
            }
        }
    }
}

/// Runs a world in a folder of its own, with Registration, Relay and Delivery, and stops them.
func withWorld(
    time: any TimeSource = SystemTime(),
    relay: StubRelay = StubRelay(),
    settings: [String: String] = [:],
    _ body: (DeliveryWorld) async throws -> Void
) async throws {
    let folder = try TemporaryDirectory()
    let world = try DeliveryWorld(folder: folder.path, time: time, relay: relay)
    let peers = [try await world.startRegistration(), try await world.startRelay()]
    let delivery = try await world.startDelivery(settings)
    do {
        try await body(world)
    } catch {
        try await delivery.stop()
        for peer in peers { try await peer.stop() }
        throw error
    }
    try await delivery.stop()
    for peer in peers { try await peer.stop() }
}

extension Samples {
    /// A batch of an event that begins now by a clock.
    static func fresh(
        _ event: Int,
        _ installations: Range<Int>,
        _ time: any TimeSource
    ) -> DeliveryEnqueue {
        batch(event, installations, createdAt: time.wall.second.seconds)
    }
}
