import Contracts
import HTTP2
import Loop
import PushBusCrypto
import TLS

/// The listeners of both environments, on one loop.
final class SimulatedHosts: Sendable {
    struct ConnectionFacts: Sendable {
        var id: UInt64
        var environment: APNsEnvironment
        var requests: Int
        var streams: Int
        var pings: Int
        var binding: ConnectionTokenRules.Binding?
        var tokens: [ConnectionTokenRules.Use]
    }

    private struct Host: Sendable {
        var environment: APNsEnvironment
        var server: HTTP2Server
        var handler: SimulatedHost
    }

    private let loop: HTTP2Loop
    private let hosts: [Host]
    private let certificates: SimulatorCertificates
    private let boundPorts = Locked<[APNsEnvironment: UInt16]>([:])

    init(
        host: String,
        ports: [APNsEnvironment: UInt16],
        certificates: SimulatorCertificates,
        state: SimulatorState
    ) throws {
        let initial = state.content.withLock { $0.settings }
        let settings = Self.serverSettings(initial)
        let tls = try certificates.context(for: initial)
        let loop = try HTTP2Loop(name: "apns")
        self.loop = loop
        self.certificates = certificates
        hosts = APNsEnvironment.allCases.map { environment in
            var configuration = HTTP2Server.Configuration()
            configuration.host = host
            configuration.port = ports[environment] ?? 0
            configuration.settings = settings
            let handler = SimulatedHost(environment, state: state)
            let server = HTTP2Server(configuration, tls: tls, loop: loop, handler: handler)
            return Host(environment: environment, server: server, handler: handler)
        }
    }

    /// Listens in both environments.
    func start() async throws {
        for host in hosts {
            let port = try await host.server.start()
            boundPorts.withLock { $0[host.environment] = port }
        }
    }

    func stop() async {
        for host in hosts { await host.server.stop() }
        loop.stop()
    }

    /// The ports that are listened at.
    var ports: [APNsEnvironment: UInt16] { boundPorts.withLock { $0 } }

    /// What a settings change means for new connections, and at once for the open ones.
    ///
    /// Throws when a certificate cannot be made; nothing has changed then.
    func apply(_ settings: SimulatorSettings) async throws {
        let tls = try certificates.context(for: settings)
        let new = Self.serverSettings(settings)
        await onLoop {
            for host in self.hosts {
                host.server.settings = new
                host.server.tls = tls
                for connection in host.server.openConnections {
                    host.handler.watchIdleness(of: connection)
                    let record = connection.attachment as? ConnectionRecord
                    guard record?.isRamped == true, record?.isThrottled == false else { continue }
                    connection.setMaximumConcurrentStreams(settings.maximumConcurrentStreams)
                }
            }
        }
    }

    /// The simulator's clock was moved.
    func clockMoved() async {
        await onLoop {
            for host in self.hosts {
                for connection in host.server.openConnections {
                    host.handler.watchIdleness(of: connection)
                }
            }
        }
    }

    /// Calls the body for each open connection of the environment, or of both; returns how many.
    func each(
        _ environment: APNsEnvironment?,
        _ body: @escaping @Sendable (HTTP2ServerConnection) -> Void
    ) async -> Int {
        await onLoop {
            var count = 0
            for host in self.hosts where environment == nil || environment == host.environment {
                for connection in host.server.openConnections {
                    body(connection)
                    count += 1
                }
            }
            return count
        }
    }

    func connections() async -> [ConnectionFacts] {
        await onLoop {
            self.hosts.flatMap { host in
                host.server.openConnections.map { connection in
                    let record = connection.attachment as? ConnectionRecord
                    return ConnectionFacts(
                        id: connection.id,
                        environment: host.environment,
                        requests: record?.requests ?? 0,
                        streams: connection.activeStreams,
                        pings: connection.pingsReceived,
                        binding: record?.rules.binding,
                        tokens: record?.rules.uses ?? []
                    )
                }
            }
        }
    }

    private func onLoop<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withUnsafeContinuation { continuation in
            loop.executor.execute { continuation.resume(returning: body()) }
        }
    }

    /// SETTINGS as APNs was seen to send them.
    private static func serverSettings(_ settings: SimulatorSettings) -> HTTP2ServerSettings {
        var result = HTTP2ServerSettings()
        result.maximumConcurrentStreams =
            settings.firstStreamLimit == 0
            ? settings.maximumConcurrentStreams : settings.firstStreamLimit
        result.streamWindowBytes = settings.streamWindowBytes
        result.connectionWindowBytes = settings.connectionWindowBytes
        result.maximumHeaderListBytes = 8_000
        result.statesDefaults = true
        // Senders that cancel on purpose must not be taken for an attack.
        result.resetBurst = 1_000_000
        result.resetsPerSecond = 100_000
        return result
    }
}

/// What a sender has to know, for `GET /`.
struct SimulatorFacts: Sendable {
    var keyID: String
    var teamID: String
    var keyFile: String
    var authorityFile: String
    var bundleIDs: [String]

    func json(_ ports: [APNsEnvironment: UInt16]) -> [UInt8] {
        var json = CompactJSON()
        json.object {
            $0.field("key_id", keyID)
            $0.field("team_id", teamID)
            $0.field("key_file", keyFile)
            $0.field("ca_file", authorityFile)
            $0.key("bundle_ids")
            $0.array { for id in bundleIDs { $0.value(id) } }
            for (environment, port) in ports.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                $0.field("\(environment.rawValue)_port", port)
            }
        }
        return json.bytes
    }
}
