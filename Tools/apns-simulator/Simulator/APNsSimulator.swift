import Contracts
import FoundationEssentials
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
        /// Further settings, as `PATCH /settings` takes them.
        package var settings = ""
        /// A script for all tokens, as `PUT /script` takes it.
        package var script = ""

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
        let now = time.wall.second.seconds
        let files = try SimulatorFiles(
            directory: configuration.directory,
            bundleIDs: configuration.bundleIDs,
            nowSeconds: now
        )
        let state = SimulatorState(
            keptNotifications: configuration.keptNotifications,
            maximumDevices: configuration.maximumDevices,
            time: time,
            random: random
        )
        let settings = try configuration.allSettings()
        let script = try configuration.commonScript()
        state.content.withLock { content in
            content.settings = settings
            content.commonScript = script
            content.addOwnKey(files, configuration.bundleIDs)
        }
        hosts = try SimulatedHosts(
            host: configuration.host,
            ports: [
                .sandbox: configuration.sandboxPort, .production: configuration.productionPort,
            ],
            certificates: SimulatorCertificates(
                authority: files.authority,
                hosts: configuration.certificateHosts,
                folder: configuration.directory,
                nowSeconds: now
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

extension APNsSimulator.Configuration {
    /// The settings that the simulator begins with; throws what is wrong with `settings`.
    func allSettings() throws -> SimulatorSettings {
        var all = SimulatorSettings()
        all.maximumConcurrentStreams = maximumStreams
        all.firstStreamLimit = firstStreamLimit
        all.streamWindowBytes = streamWindowBytes
        all.connectionWindowBytes = connectionWindowBytes
        all.parsesPayloads = parsesPayloads
        return settings.isEmpty ? all : try all.changed(by: Array(settings.utf8))
    }

    /// The script that the simulator begins with; throws what is wrong with `script`.
    func commonScript() throws -> ScriptQueue {
        if script.isEmpty { return ScriptQueue([]) }
        return try JSONDecoder().decode(ScriptQueue.self, from: Data(script.utf8))
    }
}

extension SimulatorState.Content {
    /// The key of `apns-key.p8`, and the team that owns the bundle ids.
    fileprivate mutating func addOwnKey(_ files: SimulatorFiles, _ bundleIDs: [String]) {
        let key = ProviderKey(
            teamID: files.teamID,
            publicKey: files.publicKey,
            environments: [.sandbox, .production]
        )
        // There is room: these are the first ones.
        _ = verifier.add(key, id: files.keyID)
        _ = verifier.setBundleIDs(Set(bundleIDs), of: files.teamID)
    }
}
