import Bus
import Contracts
import PushBusCrypto
import RelayCore
import ServiceKit
import TLS

/// Puts the Relay together from its settings.
package enum RelayAssembly {
    /// Reads the settings and returns the services in the order they start.
    package static func build(
        _ reader: inout EnvironmentReader,
        _ context: ProcessContext
    ) throws -> ProcessMain.Assembly {
        let settings = try RelaySettings(&reader)
        return try assemble(settings, context)
    }

    /// The services of these settings.
    package static func assemble(
        _ settings: RelaySettings,
        _ context: ProcessContext
    ) throws -> ProcessMain.Assembly {
        let relay = try relay(settings, context)
        var services: [any Service] = [relay]
        if let endpoint = settings.bind {
            context.readiness.set("bus", .waiting("the bus endpoint is not bound yet"))
            let intake = BusIntake(
                relay: relay,
                credit: settings.busCredit,
                horizon: settings.limits.horizon,
                time: context.time,
                log: context.log
            )
            var routes = BusRoutes()
            intake.register(in: &routes)
            routes.answerStatus(of: context)
            let server = try BusServer(
                runtime: BusRuntime(log: context.log),
                name: "relay",
                endpoint: endpoint,
                security: settings.security,
                routes: routes,
                announcedIn: settings.announcement,
                metrics: context.metrics,
                log: context.log,
                random: context.random
            )
            services.append(
                BusListener(server: server, relay: relay, readiness: context.readiness)
            )
        }
        if let configuration = settings.http {
            context.readiness.set("http", .waiting("the http port is not open yet"))
            services.append(
                HTTPListener(
                    configuration: configuration,
                    endpoint: SendEndpoint(
                        relay: relay,
                        limits: SendLimits(settings.limits),
                        time: context.time,
                        metrics: context.metrics
                    ),
                    relay: relay,
                    context: context
                )
            )
        }
        // Longer than the interfaces wait for what is under way, which is longer than the deadline
        // of a message.
        return ProcessMain.Assembly(services, gracePeriod: settings.apns.deadline + .seconds(4))
    }

    private static func relay(
        _ settings: RelaySettings,
        _ context: ProcessContext
    ) throws -> Relay {
        let credentials: APNsCredentials
        do throws(CryptoError) {
            credentials = try settings.apns.credentials()
        } catch {
            return Relay(
                notConfigured: error.message,
                profile: settings.profile,
                context: context
            )
        }
        let tls = try TLSContext.client(
            trust: settings.apns.caFile.map { .file($0) } ?? .system
        )
        let pools = settings.apns.environments.map { environment in
            var pool = APNsPool.Configuration(
                environment: environment,
                origin: settings.apns.origins[environment] ?? .apple(environment),
                tls: tls,
                credentials: credentials
            )
            pool.connections = settings.apns.connections
            pool.queueLimit = settings.apns.queueLimit
            pool.deadline = settings.apns.deadline
            return pool
        }
        return try Relay(pools: pools, profile: settings.profile, context: context)
    }
}
