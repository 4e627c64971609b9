import Glibc
import Loop
import TLS

/// A listener for HTTP/2 over TLS; all its connections live on one loop.
// Sendable by proof: the stored `var`s are touched on the loop thread only; `start` and `stop`
// go there first.
package final class HTTP2Server: @unchecked Sendable {
    package struct Configuration: Sendable {
        /// Address to bind, an address literal.
        package var host = "127.0.0.1"
        /// 0 takes any free port.
        package var port: UInt16 = 0
        package var settings = HTTP2ServerSettings()
        /// Connections beyond it are closed at once.
        package var maximumConnections = 1_000
        package var handshakeTimeout: Duration = .seconds(10)

        package init() {}
    }

    private let configuration: Configuration
    private let loop: HTTP2Loop
    private let handler: any HTTP2ServerHandler
    private var listener: Int32 = -1
    private var connections: [UInt64: HTTP2ServerConnection] = [:]
    private var nextID: UInt64 = 1
    /// Applied to connections accepted from now on; loop thread only.
    package var settings: HTTP2ServerSettings
    /// Certificate and versions of connections accepted from now on; loop thread only.
    package var tls: TLSContext

    package init(
        _ configuration: Configuration,
        tls: TLSContext,
        loop: HTTP2Loop,
        handler: any HTTP2ServerHandler
    ) {
        self.configuration = configuration
        self.tls = tls
        self.loop = loop
        self.handler = handler
        settings = configuration.settings
    }

    /// Binds and listens; returns the port. Throws when the address is in use or not local.
    package func start() async throws(HTTP2Closure) -> UInt16 {
        let result = await withUnsafeContinuation {
            (continuation: UnsafeContinuation<Result<UInt16, HTTP2Closure>, Never>) in
            loop.executor.execute { continuation.resume(returning: self.listen()) }
        }
        return try result.get()
    }

    /// Stops listening and ends all connections.
    package func stop() async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            loop.executor.execute {
                self.endAll()
                continuation.resume()
            }
        }
    }

    /// The open connections; loop thread only.
    package var openConnections: [HTTP2ServerConnection] {
        loop.executor.preconditionCurrent()
        return connections.values.filter(\.isOpen).sorted { $0.id < $1.id }
    }

    private func endAll() {
        if listener >= 0 {
            loop.epoll.unwatch(listener)
            close(listener)
            listener = -1
        }
        for connection in connections.values { connection.close() }
    }

    private func listen() -> Result<UInt16, HTTP2Closure> {
        do throws(HTTP2Closure) {
            let found = try SocketAddress.resolve(
                host: configuration.host,
                port: configuration.port,
                numericOnly: true,
                passive: true
            )
            guard let address = found.first else { throw .resolution(configuration.host) }
            return .success(try bind(address))
        } catch {
            return .failure(error)
        }
    }

    private func bind(_ address: SocketAddress) throws(HTTP2Closure) -> UInt16 {
        do throws(SystemCallError) {
            let socket = try makeStreamSocket(family: address.family)
            var one: Int32 = 1
            let size = socklen_t(MemoryLayout<Int32>.size)
            setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &one, size)
            guard address.with({ Glibc.bind(socket, $0, $1) }) == 0, Glibc.listen(socket, 512) == 0
            else {
                let failure = SystemCallError.last(
                    "bind \(configuration.host):\(configuration.port)"
                )
                close(socket)
                throw failure
            }
            listener = socket
            try loop.epoll.watch(socket, for: .read) { [weak self] _ in self?.acceptAll() }
            return SocketAddress(boundTo: socket)?.port ?? 0
        } catch {
            throw .connect(error.description)
        }
    }

    private func acceptAll() {
        for _ in 0..<64 {
            let socket = accept(listener, nil, nil)
            guard socket >= 0 else {
                if errno == EMFILE || errno == ENFILE || errno == ENOMEM { restAfterShortage() }
                return
            }
            guard connections.count < configuration.maximumConnections, handler.admitsConnection()
            else {
                close(socket)
                continue
            }
            adopt(socket)
        }
    }

    private func adopt(_ socket: Int32) {
        // The Glibc module has no accept4.
        _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK)
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        var one: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, size)
        guard let session = try? TLSConnection.server(tls, socket: socket) else {
            close(socket)
            return
        }
        let connection = HTTP2ServerConnection(
            id: nextID,
            socket: socket,
            tls: session,
            loop: loop,
            settings: settings,
            handler: handler,
            onEnd: { [weak self] ended in self?.connections[ended.id] = nil }
        )
        connections[nextID] = connection
        nextID += 1
        connection.start(handshakeTimeout: configuration.handshakeTimeout)
    }

    /// Out of descriptors: epoll would report the waiting peer without end.
    private func restAfterShortage() {
        let listener = listener
        do throws(SystemCallError) {
            try loop.epoll.setInterest(listener, [])
        } catch { return }
        loop.executor.schedule(after: .milliseconds(100)) { [weak self] in
            guard let self, self.listener == listener, listener >= 0 else { return }
            try? self.loop.epoll.setInterest(listener, .read)
        }
    }
}
