import Bus
import Contracts
import Loop
import ServiceKit
import Storage

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
        let rulings = makeRulings(settings)
        let store = try await open(settings, rulings, context)
        let metrics = EventMetrics(context.metrics)
        let wakes = PipelineWakes()
        let keys = IntegratorKeys()
        keys.replace(try await store.integrators())
        let condition = IngestCondition(context.readiness, limits: settings.limits)
        let prompt = PromptWatermark(RegistrationClient(registration))
        let publishing = EventPublishing(
            store: store,
            prompt: prompt,
            handedOut: settings.pipeline.handedOut,
            condition: condition,
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
        let pipeline = EventPipeline(
            store: store,
            registration: RegistrationClient(registration),
            prompt: prompt,
            fanout: FanoutClient(fanout),
            limits: settings.pipeline,
            condition: condition,
            context: context,
            metrics: metrics,
            wakes: wakes
        )
        try await pipeline.takeBack()
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
            let endpoint = EventEndpoint(publishing: publishing, keys: keys, context: context)
            services.append(EventListener(http, endpoint, context))
        }
        return ProcessMain.Assembly(services)
    }

    private static func open(
        _ settings: EventIngestSettings,
        _ rulings: PolicyRulings,
        _ context: ProcessContext
    ) async throws -> any EventStore {
        switch settings.store {
        case .sqlite(let path):
            try await SQLiteEventStore(
                path: path,
                time: context.time,
                limits: settings.limits,
                rulings: rulings
            )
        case .postgresql(let url):
            try await PostgreSQLEventStore(url, limits: settings.limits, rulings: rulings)
        }
    }

    private static func makeRulings(_ settings: EventIngestSettings) -> PolicyRulings {
        let zones = ZoneDatabase(directory: settings.zoneinfo)
        return PolicyRulings(unknownRules: settings.unknownRules) { zone, instant in
            zones.offset(of: zone, at: instant)
        }
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
