import Contracts
import HTTPServer
import Loop
import ServiceKit
import TLS

/// A faithful APNs for tests, demos and other people's projects: both environments over TLS and
/// HTTP/2, and a control API over plain HTTP.
package final class APNsSimulator: Service {
    package struct Configuration: Sendable {
        /// Where CA, certificate and signing key are kept; made on the first start.
        package var directory: String
        /// Address literal for the two APNs ports.
        package var host = "127.0.0.1"
        /// 0 takes any free port.
        package var sandboxPort: UInt16 = 0
        package var productionPort: UInt16 = 0
        package var controlHost = "127.0.0.1"
        package var controlPort: UInt16 = 0
        /// Bundle ids of the team; a topic is one of them, alone or with a suffix.
        package var bundleIDs = ["app.example"]
        /// Names and addresses in the server certificate.
        package var certificateHosts = ["localhost", "127.0.0.1"]
        /// Notifications kept for `received` and for phones that are away.
        package var keptNotifications = 10_000
        package var maximumDevices = 100_000
        /// `SETTINGS_MAX_CONCURRENT_STREAMS` once a connection has had a request accepted.
        package var maximumStreams: UInt32 = 1_000
        /// The limit before that; 0 leaves the ramp out.
        package var firstStreamLimit: UInt32 = 1
        /// HTTP/2 windows in bytes.
        package var streamWindowBytes: UInt32 = 65_535
        package var connectionWindowBytes: Int32 = 65_535
        /// Parses the JSON of every payload.
        package var parsesPayloads = true

        package init(directory: String) { self.directory = directory }
    }

    package let name = "simulator"
    /// What a sender signs with.
    package let keyID: String
    package let teamID: String
    package let signingKeyPath: String
    /// The certificate that a sender has to trust.
    package let authorityPath: String

    private let hosts: SimulatedHosts
    private let control: HTTPServer
    private let ports: BoundPorts

    /// Makes or opens the folder and prepares the listeners; nothing listens yet.
    package init(
        _ configuration: Configuration,
        time: any TimeSource = SystemTime(),
        random: RandomSource = .system,
        ports: BoundPorts = BoundPorts()
    ) throws {
        let files = try SimulatorFiles(
            directory: configuration.directory,
            bundleIDs: configuration.bundleIDs,
            hosts: configuration.certificateHosts,
            nowSeconds: time.wall.second.seconds
        )
        let key = ProviderKey(
            teamID: files.teamID,
            publicKey: files.publicKey,
            bundleIDs: configuration.bundleIDs,
            environments: [.sandbox, .production]
        )
        let state = SimulatorState(
            keys: [files.keyID: key],
            keptNotifications: configuration.keptNotifications,
            maximumDevices: configuration.maximumDevices,
            time: time,
            random: random
        )
        state.content.withLock { content in
            content.settings.maximumConcurrentStreams = configuration.maximumStreams
            content.settings.firstStreamLimit = configuration.firstStreamLimit
            content.settings.streamWindowBytes = configuration.streamWindowBytes
            content.settings.connectionWindowBytes = configuration.connectionWindowBytes
            content.settings.parsesPayloads = configuration.parsesPayloads
        }
        hosts = try SimulatedHosts(
            host: configuration.host,
            ports: [
                .sandbox: configuration.sandboxPort, .production: configuration.productionPort,
            ],
            tls: try .server(
                certificateChainFile: files.certificatePath,
                privateKeyFile: files.serverKeyPath
            ),
            state: state
        )
        var limits = HTTPServerLimits()
        limits.connections = 4_096
        limits.concurrentRequests = 4_096
        control = HTTPServer(
            configuration: HTTPServerConfiguration(
                host: configuration.controlHost,
                port: configuration.controlPort,
                limits: limits
            ),
            handler: ControlAPI(
                state: state,
                hosts: hosts,
                facts: SimulatorFacts(
                    keyID: files.keyID,
                    teamID: files.teamID,
                    keyFile: files.signingKeyPath,
                    authorityFile: files.authorityPath,
                    bundleIDs: configuration.bundleIDs
                )
            )
        )
        keyID = files.keyID
        teamID = files.teamID
        signingKeyPath = files.signingKeyPath
        authorityPath = files.authorityPath
        self.ports = ports
    }

    /// Listens at all three ports; `ports` then holds `sandbox`, `production` and `http`.
    package func start() async throws {
        try await hosts.start()
        for (environment, port) in hosts.ports { ports.set(environment.rawValue, port) }
        ports.set("http", try control.start())
    }

    /// Ends all connections and listeners.
    package func stop() async {
        await control.stop()
        await hosts.stop()
    }

    /// The ports listened at, by name.
    package var boundPorts: [String: UInt16] { ports.all }

    package func run(until stop: StopSignal) async throws {
        await stop.wait()
        await self.stop()
    }
}
