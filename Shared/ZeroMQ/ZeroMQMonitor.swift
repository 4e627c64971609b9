import CZMQ

/// What became of the connections of one socket.
package enum ZeroMQConnectionEvent: Hashable, Sendable {
    case connected
    case disconnected
    /// The handshake failed because the peer does not know or want our key.
    case refusedByKey
    /// The other end speaks no ZeroMQ, or is of a socket type that does not fit.
    case refusedByProtocol
}

/// Follows a socket's connections; lives on the loop's thread.
package final class ZeroMQMonitor {
    private let backend: ZeroMQPollBackend
    private let events: ZeroMQSocket
    private var registration: ZeroMQPollBackend.Registration?

    /// Starts to follow `socket`; `name` must be unique in the process.
    package init(
        _ socket: ZeroMQSocket,
        name: String,
        backend: ZeroMQPollBackend,
        handler: @escaping (ZeroMQConnectionEvent) -> Void
    ) throws(ZeroMQError) {
        let address = "inproc://monitor.\(name)"
        let wanted =
            ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED
            | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL
            | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL
        guard zmq_socket_monitor(try socket.live("monitor"), address, wanted) == 0 else {
            throw .last("monitor")
        }
        self.backend = backend
        events = try ZeroMQSocket(
            .pair,
            context: socket.context,
            options: ZeroMQSocketOptions(),
            on: socket.loop
        )
        try events.connect(address)
        registration = backend.register(events) { [weak self] in
            self?.drain(handler)
        }
    }

    /// Ends it; call before the followed socket is closed.
    package func close(_ socket: ZeroMQSocket) {
        if let registration { backend.remove(registration) }
        registration = nil
        if let handle = try? socket.live("monitor") { zmq_socket_monitor(handle, nil, 0) }
        events.close()
    }

    private func drain(_ handler: (ZeroMQConnectionEvent) -> Void) {
        let limits = ZeroMQLimits(frames: 2, bytes: 4096)
        while let received = try? events.receive(limits: limits) {
            guard case .message(let message) = received else { return }
            guard let head = message.frames.first, head.count >= 2 else { continue }
            switch Int32(UInt16(head[0]) | UInt16(head[1]) << 8) {
            case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: handler(.connected)
            case ZMQ_EVENT_DISCONNECTED: handler(.disconnected)
            case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: handler(.refusedByKey)
            case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL: handler(.refusedByProtocol)
            default: continue
            }
        }
    }
}
