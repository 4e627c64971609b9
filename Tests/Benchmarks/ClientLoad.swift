import Glibc
import HTTP2
import Loop
import TLS

/// Loads a server with our client: async callers that run on the connection's thread.
final class ClientLoad: Sendable {
    private let options: BenchOptions
    private let loop: HTTP2Loop
    private let resolver: NameResolver
    private let configuration: HTTP2ClientConfiguration

    init(_ options: BenchOptions, _ folder: BenchFolder, port: UInt16) async throws {
        self.options = options
        loop = try HTTP2Loop(name: "client")
        resolver = try NameResolver()
        configuration = HTTP2ClientConfiguration(
            host: "127.0.0.1",
            port: port,
            tls: try .client(trust: .file(folder.file("ca.pem")))
        )
    }

    /// One round on a connection of its own, as h2load does; the handshake is counted in.
    func run() async throws -> H2Figure {
        let cpuBefore = CPUTime.own
        let start = ContinuousClock.now
        let connection = HTTP2ClientConnection(configuration, loop: loop, resolver: resolver)
        try await connection.connect(timeout: .seconds(10))
        _ = await connection.ping(timeout: .seconds(10))
        let request = HTTP2Request(
            path: "/3/device/\(BenchFolder.token)",
            headers: RequestFields.all(nil).map {
                HTTP2Field($0.name, $0.value, indexing: $0.name == "apns-id" ? .none : .automatic)
            },
            body: BenchFolder.body
        )
        let share = options.requests / options.streams
        let good = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<options.streams {
                group.addTask(executorPreference: self.loop.executor) {
                    await Self.send(request, share, on: connection)
                }
            }
            return await group.reduce(0, +)
        }
        let elapsed = ContinuousClock.now - start
        connection.shutDown()
        let total = share * options.streams
        guard good == total else {
            throw BenchFailure("\(total - good) of \(total) not answered 200")
        }
        let seconds =
            Double(elapsed.components.seconds)
            + Double(elapsed.components.attoseconds) / 1e18
        return H2Figure(
            requestsPerSecond: Double(total) / seconds,
            cpuMicroseconds: (CPUTime.own - cpuBefore) / Double(total) * 1_000_000
        )
    }

    private static func send(
        _ request: HTTP2Request,
        _ count: Int,
        on connection: HTTP2ClientConnection
    ) async -> Int {
        var good = 0
        for _ in 0..<count {
            let outcome = await connection.send(request, timeout: .seconds(30))
            if case .response(let response) = outcome, response.status == 200 { good += 1 }
        }
        return good
    }

    func stop() async {
        loop.stop()
        resolver.stop()
    }
}
