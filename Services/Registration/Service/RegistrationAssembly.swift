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

    /// How passwords are hashed and how large a file may be are parameters for tests alone.
    package static func assemble(
        _ settings: RegistrationSettings,
        _ context: ProcessContext,
        passwordCost: PasswordHash.Cost = .frugal,
        passwordQueue: Int = PasswordThread.defaultCapacity,
        storeOptions: SQLiteOptions = SQLiteOptions()
    ) async throws -> ProcessMain.Assembly {
        let file = MasterKeyFile(path: settings.masterKeyPath)
        let key = try file.readOrCreate()
        let next = try file.readNext()
        let vault = ContentKeyVault(master: next ?? key, previous: next == nil ? nil : key)
        let condition = StoreCondition(context.readiness)
        let store = try await open(settings.store, storeOptions, condition)
        do {
            try await StoreStart.begin(
                store,
                GenerationFile(path: settings.generationPath),
                log: context.log
            )
            let rotation = MasterKeyRotation(
                store: store,
                vault: vault,
                file: file,
                isInterrupted: next != nil,
                time: context.time,
                random: context.random,
                log: context.log
            )
            let passwords = try PasswordThread(
                cost: passwordCost,
                capacity: passwordQueue,
                metrics: context.metrics
            )
            let services = try services(settings, context, store, vault, rotation, passwords)
            let probe = StoreProbe(condition, time: context.time) { try await store.probe() }
            return ProcessMain.Assembly(services + [probe])
        } catch {
            await store.close()
            throw error
        }
    }

    private static func open(
        _ address: StoreLocation,
        _ options: SQLiteOptions,
        _ condition: StoreCondition
    ) async throws -> any SQLRegistrationStore {
        switch address {
        case .sqlite(let path):
            try await SQLiteRegistrationStore.open(
                path: path,
                options: options,
                condition: condition
            ) { SHA256.hash($0) }
        case .postgresql(let url):
            try await PostgreSQLRegistrationStore.open(url, condition: condition) {
                SHA256.hash($0)
            }
        }
    }

    private static func services(
        _ settings: RegistrationSettings,
        _ context: ProcessContext,
        _ store: any SQLRegistrationStore,
        _ vault: ContentKeyVault,
        _ rotation: MasterKeyRotation,
        _ passwords: PasswordThread
    ) throws -> [any Service] {
        let desk = desk(store, passwords, vault, settings, context)
        let accounts = accounts(store, desk, context)
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
                accounts: accounts,
                vault: vault,
                deployment: settings.deployment,
                serverURL: { url(settings, context) },
                receipts: DeliveryReceipts(client: delivery),
                relay: standing(delivery, context),
                testCommitted: { publisher.wake() },
                time: context.time,
                metrics: context.metrics,
                log: context.log
            )
        )
        let answers = RegistrationBus(
            store: store,
            accounts: accounts,
            rotation: rotation,
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
        return [
            closing,
            BoundBus(server: server, readiness: context.readiness),
            Housekeeping(store: store, time: context.time, log: context.log),
            rotation,
            publisher,
            HTTPEndpoint(configuration: settings.http, handler: api, context: context),
        ]
    }

    private static func standing(
        _ delivery: BusClient,
        _ context: ProcessContext
    ) -> RelayStanding {
        RelayStanding(reports: DeliveryReports(client: delivery), time: context.time)
    }

    private static func accounts(
        _ store: any SQLRegistrationStore,
        _ desk: SessionDesk,
        _ context: ProcessContext
    ) -> AccountDesk {
        AccountDesk(store: store, sessions: desk, time: context.time, log: context.log)
    }

    private static func desk(
        _ store: any SQLRegistrationStore,
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
