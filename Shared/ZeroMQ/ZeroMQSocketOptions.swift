/// The socket types the bus uses, and those that tests connect by mistake.
package enum ZeroMQSocketKind: Int32, Sendable {
    case pair = 0
    case pub = 1
    case sub = 2
    case req = 3
    case rep = 4
    case dealer = 5
    case router = 6
    case pull = 7
    case push = 8
}

/// How a socket proves who it is.
package enum ZeroMQCurve: Sendable {
    /// A server with its key pair and the ZAP domain in which its clients are looked up.
    case server(CurveKeyPair, domain: String)
    /// A client with its own key pair and the key of the server it expects.
    case client(CurveKeyPair, server: CurvePublicKey)
}

/// The options of a socket, set before it binds or connects; the defaults are the project's.
package struct ZeroMQSocketOptions: Sendable {
    /// Messages queued for one peer in either direction.
    package var highWaterMark: Int32 = 1000
    /// Largest single frame in bytes; libzmq cuts a peer that sends more. Above the bus's own bound,
    /// so that a message a little beyond it is answered and counted instead.
    package var maximumFrameBytes: Int64 = 1_310_720
    /// Queue only for completed connections.
    package var immediate = false
    /// Answer EHOSTUNREACH and EAGAIN instead of dropping silently.
    package var routerMandatory = false
    package var handshakeMilliseconds: Int32 = 3000
    package var reconnectMilliseconds: Int32 = 200
    package var reconnectMaximumMilliseconds: Int32 = 10_000
    package var heartbeatMilliseconds: Int32 = 5000
    package var heartbeatTimeoutMilliseconds: Int32 = 15_000
    package var heartbeatTimeToLiveMilliseconds: Int32 = 20_000
    package var tcpMaximumRetransmitMilliseconds: Int32 = 15_000
    package var curve: ZeroMQCurve?

    package init() {}

    /// A binding ROUTER for `window` messages a peer.
    package static func router(window: Int, curve: ZeroMQCurve?) -> Self {
        var options = ZeroMQSocketOptions()
        options.highWaterMark = Int32(clamping: window + 8)
        options.routerMandatory = true
        options.curve = curve
        return options
    }

    /// A connecting DEALER for `window` unanswered messages.
    package static func dealer(window: Int, curve: ZeroMQCurve?) -> Self {
        var options = ZeroMQSocketOptions()
        options.highWaterMark = Int32(clamping: window + 8)
        options.immediate = true
        options.curve = curve
        return options
    }
}
