import HTTP2
import Loop
import TLS
import Testing

/// A server whose answers a test writes as closures, all of them run on the loop.
final class ScriptedHandler: HTTP2ServerHandler {
    typealias Body = @Sendable (HTTP2ServerRequest, HTTP2ServerConnection) -> Void

    struct Script: Sendable {
        var opened: (@Sendable (HTTP2ServerConnection) -> Void)?
        var began: Body?
        var ended: Body?
        var connections = 0
        var requests: [HTTP2ServerRequest] = []
    }

    let script = Locked(Script())

    func connectionOpened(_ connection: HTTP2ServerConnection) {
        let body = script.withLock { script in
            script.connections += 1
            return script.opened
        }
        body?(connection)
    }

    func requestBegan(
        _ request: borrowing HTTP2ServerRequest,
        on connection: HTTP2ServerConnection
    ) {
        let request = copy request
        script.withLock { $0.began }?(request, connection)
    }

    func requestEnded(
        _ request: inout HTTP2ServerRequest,
        on connection: HTTP2ServerConnection
    ) {
        let request = copy request
        let body = script.withLock { script in
            if script.requests.count < 100 { script.requests.append(request) }
            return script.ended
        }
        if let body {
            body(request, connection)
        } else {
            connection.respond(request.stream, HTTP2ServerResponse(status: 200))
        }
    }

    var requests: [HTTP2ServerRequest] { script.withLock { $0.requests } }

    func onOpen(_ body: @escaping @Sendable (HTTP2ServerConnection) -> Void) {
        script.withLock { $0.opened = body }
    }

    func onBegin(_ body: @escaping Body) { script.withLock { $0.began = body } }

    func onRequest(_ body: @escaping Body) { script.withLock { $0.ended = body } }
}

/// A server and what is needed to connect to it, on one loop.
final class HTTP2Fixture: Sendable {
    let loop: HTTP2Loop
    let resolver: NameResolver
    let certificates: TestCertificates
    let handler = ScriptedHandler()
    let server: HTTP2Server
    let port: UInt16

    /// `resolving` takes the place of the name service: it gets the server's port and the name.
    init(
        certificate: String = "good",
        http2: Bool = true,
        maximumVersion: TLSContext.Version = .tls13,
        settings: HTTP2ServerSettings = HTTP2ServerSettings(),
        resolving: (@Sendable (UInt16, String) throws(HTTP2Closure) -> [SocketAddress])? = nil
    ) async throws {
        loop = try HTTP2Loop(name: "http2-test")
        resolver =
            if let resolving {
                NameResolver { host, port in
                    Result { () throws(HTTP2Closure) in try resolving(port, host) }
                }
            } else {
                NameResolver()
            }
        certificates = try TestCertificates.shared.get()
        var configuration = HTTP2Server.Configuration()
        configuration.settings = settings
        server = HTTP2Server(
            configuration,
            tls: try certificates.server(
                certificate,
                http2: http2,
                maximumVersion: maximumVersion
            ),
            loop: loop,
            handler: handler
        )
        port = try await server.start()
    }

    func connection(
        trusting authority: String = "ca",
        host: String = "127.0.0.1",
        _ change: (inout HTTP2ClientConfiguration) -> Void = { _ in }
    ) throws -> HTTP2ClientConnection {
        var configuration = HTTP2ClientConfiguration(
            host: host,
            port: port,
            tls: try certificates.client(trusting: authority)
        )
        change(&configuration)
        return HTTP2ClientConnection(configuration, loop: loop, resolver: resolver)
    }

    func connected(
        _ change: (inout HTTP2ClientConfiguration) -> Void = { _ in }
    ) async throws -> HTTP2ClientConnection {
        let connection = try connection(change)
        try await connection.connect(timeout: .seconds(10))
        return connection
    }

    /// Runs the closure on the loop thread.
    func onLoop<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withUnsafeContinuation { continuation in
            loop.executor.execute { continuation.resume(returning: body()) }
        }
    }

    func stop() async {
        await server.stop()
        loop.stop()
        resolver.stop()
    }
}

extension HTTP2Request {
    static func push(_ token: String = "00", bytes: Int = 100) -> HTTP2Request {
        HTTP2Request(
            path: "/3/device/\(token)",
            headers: [HTTP2Field("apns-topic", "app.example")],
            body: [UInt8](repeating: 0x61, count: bytes)
        )
    }
}

extension HTTP2Outcome {
    var status: Int? {
        if case .response(let response) = self { response.status } else { nil }
    }
}

extension SocketAddress {
    static func loopback(_ port: UInt16) throws(HTTP2Closure) -> SocketAddress {
        try SocketAddress.resolve(host: "127.0.0.1", port: port, numericOnly: true)[0]
    }
}
