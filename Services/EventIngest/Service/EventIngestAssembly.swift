import Bus
import Contracts
import Loop
import ServiceKit

/// Puts the parts of an EventIngest process together.
package enum EventIngestAssembly {
    /// Opens the store and makes the services, in the order in which they start.
    package static func build(
        _ settings: EventIngestSettings,
        _ context: ProcessContext
    ) async throws -> ProcessMain.Assembly {
        context.readiness.set("bus", .waiting("the endpoint is not bound yet"))
        let runtime = try BusRuntime(log: context.log)
        let (registration, fanout) = try clients(settings, runtime, context)
        let zones = ZoneDatabase()
        let rulings = PolicyRulings(unknownRules: settings.unknownRules) { zone, instant in
            zones.offset(of: zone, at: instant)
        }
        let store = try await SQLiteEventStore(
            path: settings.storePath,
            time: context.time,
            limits: settings.store,
            rulings: rulings
        )
        let metrics = EventMetrics(context.metrics)
        let wakes = PipelineWakes()
        let keys = IntegratorKeys()
        keys.replace(try await store.integrators())
        let publishing = EventPublishing(
            store: store,
            metrics: metrics,
            log: context.log,
            wakes: wakes
        )
        let routes = EventIngestRoutes(
            store: store,
            publishing: publishing,
            metrics: metrics,
            wakes: wakes,
            rulings: rulings,
            keys: keys,
            context: context
        )
        let pipeline = pipeline(store, registration, fanout, settings, metrics, wakes, context)
        let recovered = try await store.recover()
        if recovered > 0 {
            context.log.info("handed out events taken back", ["count": .int(recovered)])
        }
        var services: [any Service] = [
            Holding("store") { await store.close() },
            Holding("bus connections") {
                registration.stop()
                fanout.stop()
                runtime.stop()
            },
            pipeline,
            EventIngestIntake(
                server: try server(settings, runtime, routes, context),
                readiness: context.readiness,
                ports: context.ports
            ),
        ]
        if let http = settings.http {
            let endpoint = EventEndpoint(
                publishing: publishing,
                keys: keys,
                metrics: context.metrics,
                log: context.log
            )
            services.append(EventListener(http, endpoint, context))
        }
        return ProcessMain.Assembly(services)
    }

    private static func pipeline(
        _ store: SQLiteEventStore,
        _ registration: BusClient,
        _ fanout: BusClient,
        _ settings: EventIngestSettings,
        _ metrics: EventMetrics,
        _ wakes: PipelineWakes,
        _ context: ProcessContext
    ) -> EventPipeline {
        EventPipeline(
            store: store,
            registration: RegistrationClient(registration),
            fanout: FanoutClient(fanout),
            limits: settings.pipeline,
            time: context.time,
            random: context.random,
            metrics: metrics,
            log: context.log,
            wakes: wakes
        )
    }

    private static func clients(
        _ settings: EventIngestSettings,
        _ runtime: BusRuntime,
        _ context: ProcessContext
    ) throws -> (registration: BusClient, fanout: BusClient) {
        let registration = try BusClient(
            runtime: runtime,
            name: "registration",
            endpoints: settings.registration,
            security: settings.security,
            metrics: context.metrics,
            log: context.log
        )
        let fanout = try BusClient(
            runtime: runtime,
            name: "fanout",
            endpoints: settings.fanout,
            security: settings.security,
            metrics: context.metrics,
            log: context.log
        )
        return (registration, fanout)
    }

    private static func server(
        _ settings: EventIngestSettings,
        _ runtime: BusRuntime,
        _ routes: EventIngestRoutes,
        _ context: ProcessContext
    ) throws -> BusServer {
        try BusServer(
            runtime: runtime,
            name: "eventingest",
            endpoint: settings.bind,
            security: settings.security,
            routes: routes.routes(),
            metrics: context.metrics,
            log: context.log
        )
    }
}
