import Bus
import Contracts
import Glibc
import HTTPServer
import Loop
import PushBusCrypto
import RegistrationCore
import ServiceKit
import Storage

/// Puts a Registration process together.
package enum RegistrationAssembly {
    /// Reads the settings, opens the store and returns the services in their order of start.
    package static func build(
        _ reader: inout EnvironmentReader,
        _ context: ProcessContext
    ) async throws -> ProcessMain.Assembly {
        let settings = try RegistrationSettings(&reader)
        // The store holds device tokens: nobody else reads its files.
        umask(0o077)
        return try await assemble(settings, context)
    }

    /// `passwordCost` is a parameter for tests alone.
    package static func assemble(
        _ settings: RegistrationSettings,
        _ context: ProcessContext,
        passwordCost: PasswordHash.Cost = .frugal
    ) async throws -> ProcessMain.Assembly {
        let vault = ContentKeyVault(
            master: try MasterKeyFile.readOrCreate(settings.masterKeyPath)
        )
        let store = try await SQLiteRegistrationStore.open(path: settings.storePath) {
            SHA256.hash($0)
        }
        do {
            return try assemble(settings, context, store, vault, passwordCost)
        } catch {
            await store.close()
            throw error
        }
    }

    private static func assemble(
        _ settings: RegistrationSettings,
        _ context: ProcessContext,
        _ store: SQLiteRegistrationStore,
        _ vault: ContentKeyVault,
        _ passwordCost: PasswordHash.Cost
    ) throws -> ProcessMain.Assembly {
        let passwords = try PasswordThread(cost: passwordCost, metrics: context.metrics)
        let desk = desk(store, passwords, vault, settings, context)
        let runtime = try BusRuntime(log: context.log)
        let ingest = try client("eventingest", settings.eventIngest, settings, context, runtime)
        let delivery = try client("delivery", settings.delivery, settings, context, runtime)
        let publisher = TestPublisher(
            store: store,
            sink: IngestEvents(client: ingest),
            time: context.time,
            random: context.random,
            log: context.log
        )
        let api = MobileAPI(
            MobileAPI.Parts(
                store: store,
                desk: desk,
                vault: vault,
                deployment: settings.deployment,
                serverURL: { url(settings, context) },
                receipts: DeliveryReceipts(client: delivery),
                testCommitted: { publisher.wake() },
                time: context.time,
                metrics: context.metrics,
                log: context.log
            )
        )
        let answers = RegistrationBus(
            store: store,
            desk: desk,
            vault: vault,
            serverURL: { url(settings, context) },
            context: context
        )
        let server = try BusServer(
            runtime: runtime,
            name: "registration",
            endpoint: settings.bind,
            security: settings.bus.security,
            routes: answers.routes,
            metrics: context.metrics,
            log: context.log
        )
        let closing = Holding("store") {
            ingest.stop()
            delivery.stop()
            runtime.stop()
            passwords.stop()
            await store.close()
        }
        return ProcessMain.Assembly([
            closing,
            BoundBus(server: server, readiness: context.readiness),
            Housekeeping(store: store, time: context.time, log: context.log),
            publisher,
            HTTPEndpoint(configuration: settings.http, handler: api, context: context),
        ])
    }

    private static func desk(
        _ store: SQLiteRegistrationStore,
        _ passwords: PasswordThread,
        _ vault: ContentKeyVault,
        _ settings: RegistrationSettings,
        _ context: ProcessContext
    ) -> SessionDesk {
        SessionDesk(
            store: store,
            gate: SignInGate(
                time: context.time,
                random: context.random,
                metrics: context.metrics
            ),
            passwords: passwords,
            vault: vault,
            lifetimes: settings.lifetimes,
            time: context.time,
            random: context.random
        )
    }

    private static func client(
        _ name: String,
        _ endpoints: BusEndpointSource,
        _ settings: RegistrationSettings,
        _ context: ProcessContext,
        _ runtime: BusRuntime
    ) throws -> BusClient {
        try BusClient(
            runtime: runtime,
            name: name,
            endpoints: endpoints,
            security: settings.bus.security,
            metrics: context.metrics,
            log: context.log
        )
    }

    private static func url(_ settings: RegistrationSettings, _ context: ProcessContext) -> String {
        if let url = settings.publicURL { return url }
        let scheme = settings.http.tls == nil ? "http" : "https"
        let port = context.ports.all["http"] ?? settings.http.port
        return "\(scheme)://\(HostAndPort(host: settings.http.host, port: port))"
    }
}

/// A bus server whose binding is a condition of being ready.
struct BoundBus: Service {
    let name = "bus"
    private let server: BusServer
    private let readiness: Readiness

    init(server: BusServer, readiness: Readiness) {
        self.server = server
        self.readiness = readiness
        readiness.set(name, .waiting("the bus endpoint is not bound yet"))
    }

    func run(until stop: StopSignal) async throws {
        async let serving: Void = server.run(until: stop)
        if await server.bound() != nil { readiness.set(name, .ok) }
        try await serving
    }
}
