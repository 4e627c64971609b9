/// One request as a server got it.
package struct HTTP2ServerRequest: Sendable {
    package internal(set) var stream: Int32
    package internal(set) var headers = HTTP2HeaderList()
    /// The body, at most as much of it as the server keeps.
    package var body: [UInt8] = []
    /// The length of the whole body so far.
    package internal(set) var bodyBytes = 0
    /// The request ended; false while the body is still coming.
    package internal(set) var isComplete = false

    package var method: String { headers[":method"] ?? "" }
    package var path: String { headers[":path"] ?? "" }
}

/// One answer of a server.
package struct HTTP2ServerResponse: Sendable {
    package var status: Int
    package var headers: [HTTP2Field]
    package var body: [UInt8]
    /// Cuts the body into DATA frames of this many bytes; nil leaves it whole.
    package var frameBytes: Int?
    /// Sends all of it but the end of the stream, for peers that must live with it.
    package var leavesOpen = false

    package init(
        status: Int,
        headers: [HTTP2Field] = [],
        body: [UInt8] = [],
        frameBytes: Int? = nil,
        leavesOpen: Bool = false
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.frameBytes = frameBytes
        self.leavesOpen = leavesOpen
    }
}

/// Takes the fields of an answer while it is written.
package struct HTTP2FieldWriter {
    let encoder: HTTP2HeaderEncoder

    /// Adds a field; false when an answer cannot hold more.
    @discardableResult
    package func add(
        _ name: StaticString,
        _ value: UnsafeBufferPointer<UInt8>,
        indexing: HTTP2Field.Indexing = .automatic
    ) -> Bool {
        encoder.add(name, value, indexing)
    }
}

/// Answers the requests of all connections of a server; every call comes on its loop thread.
package protocol HTTP2ServerHandler: AnyObject, Sendable {
    func connectionOpened(_ connection: HTTP2ServerConnection)
    /// The header fields are there and the body is still coming; answering now is allowed.
    func requestBegan(_ request: borrowing HTTP2ServerRequest, on connection: HTTP2ServerConnection)
    /// The request is complete. Answer with `respond` or `reset`, now or later, or never.
    ///
    /// The handler may keep the body by exchanging it for another array, whose memory then serves
    /// the next request.
    func requestEnded(_ request: inout HTTP2ServerRequest, on connection: HTTP2ServerConnection)
    func connectionClosed(_ connection: HTTP2ServerConnection)
    /// Whether a peer that just connected is served; it is cut off before TLS otherwise.
    func admitsConnection() -> Bool
    /// The peer sent a PING, which is answered without the handler.
    func pingReceived(on connection: HTTP2ServerConnection)
}

extension HTTP2ServerHandler {
    package func connectionOpened(_ connection: HTTP2ServerConnection) {}
    package func requestBegan(
        _ request: borrowing HTTP2ServerRequest,
        on connection: HTTP2ServerConnection
    ) {}
    package func connectionClosed(_ connection: HTTP2ServerConnection) {}
    package func admitsConnection() -> Bool { true }
    package func pingReceived(on connection: HTTP2ServerConnection) {}
}

/// What a server says in its first SETTINGS and how much it takes.
package struct HTTP2ServerSettings: Sendable {
    /// `SETTINGS_MAX_CONCURRENT_STREAMS`; nil leaves it out, which means no limit.
    package var maximumConcurrentStreams: UInt32? = 1_000
    /// `SETTINGS_INITIAL_WINDOW_SIZE`: the window of each stream, in bytes.
    package var streamWindowBytes: UInt32 = 65_535
    /// The window of the whole connection, in bytes.
    package var connectionWindowBytes: Int32 = 65_535
    /// `SETTINGS_MAX_HEADER_LIST_SIZE`; nil leaves it out.
    package var maximumHeaderListBytes: UInt32? = nil
    /// Names header table and frame size although they are those of RFC 9113, as APNs does.
    package var statesDefaults = false
    /// Bytes of a body that are kept; the rest is counted and dropped.
    package var keptBodyBytes = 65_536
    /// Streams that a client may reset in one go, and per second after that, before GOAWAY.
    package var resetBurst: UInt64 = 1_000
    package var resetsPerSecond: UInt64 = 33
    /// Bytes to read before other connections get their turn.
    package var readBudget = 262_144
    /// Answer frames that may wait for a peer that does not read, before its connection is ended.
    package var maximumQueuedFrames = 100_000

    package init() {}

    /// At most half of the connection's window: what opens the window again is written before the peer
    /// has used it up, and both ends work at the same time.
    package var readBudgetOfConnection: Int {
        max(1, min(readBudget, Int(connectionWindowBytes) / 2))
    }
}
