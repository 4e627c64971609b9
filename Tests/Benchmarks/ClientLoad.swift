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
    private let firstFailure = Locked<HTTP2Outcome?>(nil)

    init(_ options: BenchOptions, _ target: BenchTarget) async throws {
        self.options = options
        loop = try HTTP2Loop(name: "client")
        resolver = NameResolver()
        var configuration = HTTP2ClientConfiguration(
            host: "127.0.0.1",
            port: target.port,
            tls: try .client(trust: .file(target.authorityFile))
        )
        // As the Relay does it: what differs with each push is not among them.
        configuration.commonHeaders = RequestFields.all(target.token)
            .filter { !Self.ownFields.contains($0.name) }
            .map { HTTP2Field($0.name, $0.value) }
        self.configuration = configuration
    }

    private static let ownFields: Set<String> = ["apns-id", "apns-expiration"]

    /// One round on connections of its own, as h2load does; the handshakes are counted in.
    func run(connections count: Int = 1) async throws -> H2Figure {
        let cpuBefore = CPUTime.own
        let start = ContinuousClock.now
        var connections: [HTTP2ClientConnection] = []
        for _ in 0..<count {
            let connection = HTTP2ClientConnection(configuration, loop: loop, resolver: resolver)
            try await connection.connect(timeout: .seconds(10))
            _ = await connection.ping(timeout: .seconds(10))
            connections.append(connection)
        }
        let request = HTTP2Request(
            path: "/3/device/\(BenchFolder.token)",
            headers: RequestFields.all(nil).filter { Self.ownFields.contains($0.name) }
                .map { HTTP2Field($0.name, $0.value, indexing: .none) },
            body: BenchFolder.body
        )
        let share = options.requests / options.streams / count
        let good = await withTaskGroup(of: Int.self) { group in
            for connection in connections {
                for _ in 0..<options.streams {
                    group.addTask(executorPreference: self.loop.executor) {
                        await self.send(request, share, on: connection)
                    }
                }
            }
            return await group.reduce(0, +)
        }
        let elapsed = ContinuousClock.now - start
        for connection in connections { connection.shutDown() }
        let total = share * options.streams * count
        guard good == total else {
            let one = firstFailure.withLock { $0 }.map { ", one: \($0)" } ?? ""
            throw BenchFailure("\(total - good) of \(total) not answered 200\(one)")
        }
        return H2Figure(
            requestsPerSecond: Double(total) / (elapsed / .seconds(1)),
            cpuMicroseconds: (CPUTime.own - cpuBefore) / Double(total) * 1_000_000
        )
    }

    private func send(
        _ request: HTTP2Request,
        _ count: Int,
        on connection: HTTP2ClientConnection
    ) async -> Int {
        var good = 0
        for _ in 0..<count {
            let outcome = await connection.send(request, timeout: .seconds(30))
            if case .response(let response) = outcome, response.status == 200 {
                good += 1
            } else {
                firstFailure.withLock { $0 = $0 ?? outcome }
            }
        }
        return good
    }

    func stop() async {
        loop.stop()
        resolver.stop()
    }
}
