import Bus
import Contracts
import Loop
import PushBusCrypto
import ServiceKit
import Storage

/// Puts the parts of a Delivery process together.
package enum DeliveryAssembly {
    /// Opens the store and makes the services, in the order in which they start.
    package static func build(
        _ settings: DeliverySettings,
        _ context: ProcessContext
    ) async throws -> ProcessMain.Assembly {
        context.readiness.set("bus", .waiting("the endpoint is not bound yet"))
        let runtime = try BusRuntime(log: context.log)
        let registration = try client(
            "registration",
            settings.registration,
            settings,
            runtime,
            context
        )
        let (relay, stopRelay) = try relay(settings, runtime, context)
        let store = try await open(settings, context)
        let freed = try await store.recover()
        if freed > 0 { context.log.info("leases of a former run freed", ["rows": .int(freed)]) }
        let worker = OutboxWorker(
            store: store,
            registration: BusRegistration(client: registration),
            relay: relay,
            limits: settings.worker,
            context: context,
            hashToken: { SHA256.hash(Array($0.hex.utf8)) }
        )
        let server = try BusServer(
            runtime: runtime,
            name: "delivery",
            endpoint: settings.bind,
            security: settings.bus.security,
            routes: worker.routes(context),
            announcedIn: settings.announcement,
            metrics: context.metrics,
            log: context.log
        )
        return ProcessMain.Assembly([
            Holding("outbox") { await store.close() },
            Holding("connections") {
                registration.stop()
                stopRelay()
                runtime.stop()
            },
            worker,
            DeliveryIntake(server: server, readiness: context.readiness),
        ])
    }

    /// The outbox where the settings say.
    private static func open(
        _ settings: DeliverySettings,
        _ context: ProcessContext
    ) async throws -> any DeliveryStore {
        switch settings.store {
        case .sqlite(let path):
            return try await SQLiteDeliveryStore.open(
                path: path,
                time: context.time,
                limits: settings.outbox
            )
        case .postgresql(let url):
            return try await PostgreSQLDeliveryStore.open(
                url,
                limits: settings.outbox,
                time: context.time,
                random: context.random
            )
        }
    }

    /// The relay on the way that the settings name, and what ends it.
    private static func relay(
        _ settings: DeliverySettings,
        _ runtime: BusRuntime,
        _ context: ProcessContext
    ) throws -> (port: any RelayPort, stop: @Sendable () -> Void) {
        switch settings.relay {
        case .bus(let endpoints):
            let client = try client("relay", endpoints, settings, runtime, context)
            return (BusRelay(client: client, log: context.log), { client.stop() })
        case .http(let address, let caFile, let concurrent, let timeout):
            let relay = try HTTPRelay(
                address,
                caFile: caFile,
                concurrent: concurrent,
                timeout: timeout,
                time: context.time,
                log: context.log
            )
            return (relay, { relay.stop() })
        }
    }

    private static func client(
        _ name: String,
        _ endpoints: BusEndpointSource,
        _ settings: DeliverySettings,
        _ runtime: BusRuntime,
        _ context: ProcessContext
    ) throws -> BusClient {
        // Every batch under way fits the window of one peer, so that none waits with an ageing check.
        return try BusClient(
            runtime: runtime,
            name: name,
            endpoints: endpoints,
            security: settings.bus.security,
            window: settings.worker.rounds,
            metrics: context.metrics,
            log: context.log
        )
    }
}
