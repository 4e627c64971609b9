/// Bounds on one received message; the delimiter and the routing id do not count.
package struct ZeroMQLimits: Sendable {
    /// Most frames a message may have.
    package var frames: Int
    /// Most bytes all frames of a message may have together.
    package var bytes: Int

    package init(frames: Int, bytes: Int) {
        self.frames = frames
        self.bytes = bytes
    }

    /// The bus's bounds: 4 frames, 1 MiB.
    package static let bus = ZeroMQLimits(frames: 4, bytes: 1_048_576)
}

/// Where a message came from and how to answer it.
package struct ZeroMQEnvelope: Hashable, Sendable {
    /// The routing id a ROUTER gave the peer; empty on other sockets.
    package var routingID: [UInt8]
    /// Whether an empty delimiter frame came first, as REQ sockets send it.
    package var delimiter: Bool

    package init(routingID: [UInt8] = [], delimiter: Bool = false) {
        self.routingID = routingID
        self.delimiter = delimiter
    }
}

/// One whole message within the limits.
package struct ZeroMQMessage: Sendable {
    package var envelope: ZeroMQEnvelope
    package var frames: [[UInt8]]
    /// The user id that the ZAP handler gave the connection, read from a body frame: libzmq 4.3.4
    /// loses it on the routing id frame.
    package var userID: String?
}

/// What one receive call found.
package enum ZeroMQReceived: Sendable {
    /// Nothing is waiting.
    case nothing
    case message(ZeroMQMessage)
    /// A message beyond the limits has been read to its end and thrown away.
    case excessive(ZeroMQEnvelope, userID: String?, frames: Int, bytes: Int)
    /// A message beyond the limits is being thrown away; call again to go on.
    case draining
}

/// What became of a message given to libzmq.
package enum ZeroMQSendOutcome: Hashable, Sendable {
    /// libzmq took it, which promises nothing more.
    case sent
    /// The peer's queue is full, or there is no connected peer (EAGAIN).
    case full
    /// No peer has this routing id any more (EHOSTUNREACH).
    case unreachable
}
