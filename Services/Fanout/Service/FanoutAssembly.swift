import Bus
import Contracts
import Loop
import ServiceKit

/// Puts the Fanout process together.
package enum FanoutAssembly {
    /// Reads the settings, connects to the peers and returns the services.
    package static func build(
        _ reader: inout EnvironmentReader,
        _ context: ProcessContext
    ) async throws -> ProcessMain.Assembly {
        let settings = FanoutSettings(&reader)
        try reader.finish()
        return ProcessMain.Assembly(try services(settings, context))
    }

    /// The services for these settings; the endpoint stops first, then the work, then the
    /// bus itself.
    package static func services(
        _ settings: FanoutSettings,
        _ context: ProcessContext
    ) throws -> [any Service] {
        let runtime = try BusRuntime(log: context.log)
        func client(_ name: String, _ endpoints: BusEndpointSource) throws -> BusClient {
            try BusClient(
                runtime: runtime,
                name: name,
                endpoints: endpoints,
                security: settings.security,
                window: max(16, settings.limits.events * settings.limits.window),
                metrics: context.metrics,
                log: context.log,
                random: context.random
            )
        }
        let service = FanoutService(
            peers: FanoutPeers(
                registration: try client("registration", settings.registration),
                eventIngest: try client("eventingest", settings.eventIngest),
                delivery: try client("delivery", settings.delivery)
            ),
            limits: settings.limits,
            metrics: context.metrics,
            time: context.time,
            log: context.log
        )
        var routes = BusRoutes()
        service.addRoutes(to: &routes)
        routes.answerStatus(of: context)
        let server = try BusServer(
            runtime: runtime,
            context: context,
            endpoint: settings.bind,
            security: settings.security,
            routes: routes,
            announcedIn: settings.announcement
        )
        return [runtime, service, server]
    }
}
