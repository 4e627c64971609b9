import Loop
import ZeroMQ

/// One DEALER of a client with its window; lives on the loop's thread.
final class BusPeerSocket {
    /// Names this socket among those of its client.
    let number: Int
    let endpoint: BusEndpoint
    let socket: ZeroMQSocket
    private let runtime: BusRuntime
    private let name: String
    private(set) var registration: ZeroMQPollBackend.Registration?
    private var monitor: ZeroMQMonitor?
    /// Requests sent over this socket and not answered.
    var inFlight = 0
    /// libzmq took nothing the last time: full, or not connected.
    var isBlocked = false
    var isConnected = false
    /// Gone from the endpoint file: gets nothing new.
    var isRetiring = false
    /// Whether a refused handshake has been reported.
    var complained = false

    /// Opens the socket; it connects once attached.
    init(
        _ endpoint: BusEndpoint,
        number: Int,
        runtime: BusRuntime,
        name: String,
        options: ZeroMQSocketOptions
    ) throws(ZeroMQError) {
        self.endpoint = endpoint
        self.number = number
        self.runtime = runtime
        self.name = name
        socket = try ZeroMQSocket(
            .dealer,
            context: runtime.context,
            options: options,
            on: runtime.loop
        )
    }

    /// Starts to follow the connection, joins the poll set and connects.
    func attach(
        to backend: ZeroMQPollBackend,
        ready: @escaping () -> Void,
        changed: @escaping (ZeroMQConnectionEvent) -> Void
    ) throws(ZeroMQError) {
        monitor = try ZeroMQMonitor(
            socket,
            name: runtime.uniqueName(name),
            backend: backend,
            handler: changed
        )
        registration = backend.register(socket, handler: ready)
        try socket.connect(endpoint.address)
    }

    /// Fewer is better: connected peers first, then the fewest in flight.
    var rank: Int { (isConnected ? 0 : 1 << 20) + inFlight }

    func close() {
        monitor?.close(socket)
        monitor = nil
        if let registration { runtime.backend.remove(registration) }
        registration = nil
        isConnected = false
        socket.close()
    }
}
