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
    }

    private let loop: HTTP2Loop
    private let servers: [(environment: APNsEnvironment, server: HTTP2Server)]
    private let boundPorts = Locked<[APNsEnvironment: UInt16]>([:])

    init(
        host: String,
        ports: [APNsEnvironment: UInt16],
        tls: TLSContext,
        state: SimulatorState
    ) throws {
        let loop = try HTTP2Loop(name: "apns")
        self.loop = loop
        let settings = Self.serverSettings(state.content.withLock { $0.settings })
        servers = APNsEnvironment.allCases.map { environment in
            var configuration = HTTP2Server.Configuration()
            configuration.host = host
            configuration.port = ports[environment] ?? 0
            configuration.settings = settings
            let server = HTTP2Server(
                configuration,
                tls: tls,
                loop: loop,
                handler: SimulatedHost(environment, state: state)
            )
            return (environment, server)
        }
    }

    /// Listens in both environments.
    func start() async throws {
        for (environment, server) in servers {
            let port = try await server.start()
            boundPorts.withLock { $0[environment] = port }
        }
    }

    func stop() async {
        for (_, server) in servers { await server.stop() }
        loop.stop()
    }

    /// The ports that are listened at.
    var ports: [APNsEnvironment: UInt16] { boundPorts.withLock { $0 } }

    /// What a settings change means for new connections, and at once for the open ones.
    func apply(_ settings: SimulatorSettings) async {
        let new = Self.serverSettings(settings)
        await onLoop {
            for (_, server) in self.servers {
                server.settings = new
                for connection in server.openConnections {
                    let record = connection.attachment as? ConnectionRecord
                    guard record?.isRamped == true, record?.isThrottled == false else { continue }
                    connection.setMaximumConcurrentStreams(settings.maximumConcurrentStreams)
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
            for (own, server) in self.servers where environment == nil || environment == own {
                for connection in server.openConnections {
                    body(connection)
                    count += 1
                }
            }
            return count
        }
    }

    func connections() async -> [ConnectionFacts] {
        await onLoop {
            self.servers.flatMap { environment, server in
                server.openConnections.map { connection in
                    ConnectionFacts(
                        id: connection.id,
                        environment: environment,
                        requests: (connection.attachment as? ConnectionRecord)?.requests ?? 0,
                        streams: connection.activeStreams,
                        pings: connection.pingsReceived
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
