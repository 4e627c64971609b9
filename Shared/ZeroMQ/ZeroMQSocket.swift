import CZMQ
import Glibc
import Loop

/// libzmq's number for a context that has ended; a macro sum that Swift does not import.
let zeroMQTerminated: Int32 = 156_384_712 + 53
let zeroMQInterrupted = Glibc.EINTR
let zeroMQWouldBlock = Glibc.EAGAIN

/// A socket confined to a loop, or else to the thread that made it; use from elsewhere stops the
/// process. Confined to a loop it may be closed after the loop's thread has ended, on the one that
/// runs its late jobs: libzmq allows a hand-over between threads that are never there at once.
///
/// Not Sendable. Every call is non-blocking. ``close()`` ends it early, `deinit` at the latest.
package final class ZeroMQSocket {
    package let kind: ZeroMQSocketKind
    /// Keeps the context alive as long as the socket.
    let context: ZeroMQContext
    /// The loop it is confined to.
    let loop: LoopExecutor?
    private let thread: pthread_t
    private var opened: UnsafeMutableRawPointer?
    var drain: ZeroMQDrain?

    /// Opens a socket with all options set; nothing is bound or connected yet.
    package init(
        _ kind: ZeroMQSocketKind,
        context: ZeroMQContext,
        options: ZeroMQSocketOptions,
        on loop: LoopExecutor? = nil
    ) throws(ZeroMQError) {
        guard let handle = zmq_socket(context.handle, kind.rawValue) else {
            throw .last("zmq_socket")
        }
        self.kind = kind
        self.context = context
        self.loop = loop
        self.thread = pthread_self()
        self.opened = handle
        do {
            try apply(options)
        } catch {
            zmq_close(handle)
            self.opened = nil
            throw error
        }
    }

    deinit {
        if let opened { zmq_close(opened) }
    }

    /// Ends the socket; repeated calls do nothing.
    ///
    /// What has been sent may still leave for the time given; the call does not wait for it.
    package func close(lingerMilliseconds: Int32 = 0) {
        guard let opened else { return }
        assertThread()
        var linger = lingerMilliseconds
        if linger > 0 { zmq_setsockopt(opened, ZMQ_LINGER, &linger, 4) }
        zmq_close(opened)
        self.opened = nil
    }

    package var isOpen: Bool { opened != nil }

    /// Binds to an endpoint such as `tcp://127.0.0.1:*` and returns the address in use.
    @discardableResult
    package func bind(_ endpoint: String) throws(ZeroMQError) -> String {
        let handle = try live("bind")
        guard zmq_bind(handle, endpoint) == 0 else {
            throw .last("bind \(endpoint)", "choose an address that is free and that exists here")
        }
        var text = [CChar](repeating: 0, count: 512)
        var size = text.count
        guard zmq_getsockopt(handle, ZMQ_LAST_ENDPOINT, &text, &size) == 0 else {
            throw .last("last endpoint")
        }
        return String(
            decoding: text.prefix(while: { $0 != 0 }).map(UInt8.init(bitPattern:)),
            as: UTF8.self
        )
    }

    /// Connects to an endpoint; libzmq goes on trying until the socket ends.
    package func connect(_ endpoint: String) throws(ZeroMQError) {
        guard zmq_connect(try live("connect"), endpoint) == 0 else {
            throw .last("connect \(endpoint)", "use tcp://host:port or ipc:///absolute/path")
        }
    }

    /// Subscribes a SUB socket to every topic.
    package func subscribeToAll() throws(ZeroMQError) {
        guard zmq_setsockopt(try live("subscribe"), ZMQ_SUBSCRIBE, "", 0) == 0 else {
            throw .last("subscribe")
        }
    }

    /// Which of reading and writing would do something now.
    package func readiness() throws(ZeroMQError) -> (read: Bool, write: Bool) {
        var events: Int32 = 0
        var size = MemoryLayout<Int32>.size
        let handle = try live("events")
        while zmq_getsockopt(handle, ZMQ_EVENTS, &events, &size) != 0 {
            guard zmq_errno() == zeroMQInterrupted else { throw .last("events") }
        }
        return (events & ZMQ_POLLIN != 0, events & ZMQ_POLLOUT != 0)
    }

    /// The pointer for `zmq_poll`, on the owning thread only.
    func live(_ operation: String) throws(ZeroMQError) -> UnsafeMutableRawPointer {
        assertThread()
        guard let opened else { throw .refused(operation, "the socket is closed") }
        return opened
    }

    private func assertThread() {
        precondition(
            loop?.isCurrent ?? (pthread_equal(thread, pthread_self()) != 0),
            "a ZeroMQ socket was used outside the thread that owns it"
        )
    }
}

// MARK: - Options

extension ZeroMQSocket {
    private func apply(_ options: ZeroMQSocketOptions) throws(ZeroMQError) {
        try set(ZMQ_LINGER, 0, "LINGER")
        try set(ZMQ_SNDTIMEO, 0, "SNDTIMEO")
        try set(ZMQ_SNDHWM, options.highWaterMark, "SNDHWM")
        try set(ZMQ_RCVHWM, options.highWaterMark, "RCVHWM")
        try set(ZMQ_HANDSHAKE_IVL, options.handshakeMilliseconds, "HANDSHAKE_IVL")
        try set(ZMQ_RECONNECT_IVL, options.reconnectMilliseconds, "RECONNECT_IVL")
        try set(ZMQ_RECONNECT_IVL_MAX, options.reconnectMaximumMilliseconds, "RECONNECT_IVL_MAX")
        try set(ZMQ_HEARTBEAT_IVL, options.heartbeatMilliseconds, "HEARTBEAT_IVL")
        try set(ZMQ_HEARTBEAT_TIMEOUT, options.heartbeatTimeoutMilliseconds, "HEARTBEAT_TIMEOUT")
        try set(ZMQ_HEARTBEAT_TTL, options.heartbeatTimeToLiveMilliseconds, "HEARTBEAT_TTL")
        try set(ZMQ_TCP_KEEPALIVE, 1, "TCP_KEEPALIVE")
        try set(ZMQ_TCP_MAXRT, options.tcpMaximumRetransmitMilliseconds, "TCP_MAXRT")
        try set(ZMQ_IPV6, 1, "IPV6")
        if options.immediate { try set(ZMQ_IMMEDIATE, 1, "IMMEDIATE") }
        if options.routerMandatory { try set(ZMQ_ROUTER_MANDATORY, 1, "ROUTER_MANDATORY") }
        var maximum = options.maximumFrameBytes
        try check(zmq_setsockopt(try live("set"), ZMQ_MAXMSGSIZE, &maximum, 8), "MAXMSGSIZE")
        if let curve = options.curve { try apply(curve) }
    }

    private func apply(_ curve: ZeroMQCurve) throws(ZeroMQError) {
        switch curve {
        case .server(let keys, let domain):
            guard !domain.isEmpty else {
                throw .refused("CURVE server", "an empty ZAP domain would let every client in")
            }
            try set(ZMQ_CURVE_SERVER, 1, "CURVE_SERVER")
            try set(ZMQ_CURVE_SECRETKEY, keys.secret.bytes, "CURVE_SECRETKEY")
            try set(ZMQ_ZAP_DOMAIN, Array(domain.utf8), "ZAP_DOMAIN")
            // ZMQ_ZAP_ENFORCE_DOMAIN: missing in Debian's header, present in the library. Without
            // it a connection is let in whenever the ZAP handler is not there.
            try set(93, 1, "ZAP_ENFORCE_DOMAIN")
        case .client(let keys, let server):
            try set(ZMQ_CURVE_SERVERKEY, server.bytes, "CURVE_SERVERKEY")
            try set(ZMQ_CURVE_PUBLICKEY, keys.publicKey.bytes, "CURVE_PUBLICKEY")
            try set(ZMQ_CURVE_SECRETKEY, keys.secret.bytes, "CURVE_SECRETKEY")
        }
    }

    private func set(_ option: Int32, _ value: Int32, _ name: String) throws(ZeroMQError) {
        var value = value
        try check(zmq_setsockopt(try live("set"), option, &value, 4), name)
    }

    private func set(_ option: Int32, _ value: [UInt8], _ name: String) throws(ZeroMQError) {
        try check(zmq_setsockopt(try live("set"), option, value, value.count), name)
    }

    private func check(_ result: Int32, _ name: String) throws(ZeroMQError) {
        guard result == 0 else { throw .last("set \(name)") }
    }
}

// MARK: - Blocking use

extension ZeroMQSocket {
    /// Blocks the owning thread until the socket can be read or written; for threads that do
    /// nothing else. Throws when that takes longer than `limit` milliseconds.
    package func waitUntil(write: Bool, limit: Int = 10_000) throws(ZeroMQError) {
        let events = Int16(write ? ZMQ_POLLOUT : ZMQ_POLLIN)
        var item = zmq_pollitem_t(socket: try live("poll"), fd: 0, events: events, revents: 0)
        guard zmq_poll(&item, 1, limit) > 0 else {
            throw .refused("poll", "nothing happened within \(limit) ms")
        }
    }
}
