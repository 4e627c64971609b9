import Glibc
import Loop
import TLS

/// One accepted connection, confined to the thread of its loop.
// Sendable by proof: every stored `var` is touched on the loop thread only, where the listener
// makes it and epoll calls it; the calls for handlers check it.
package final class HTTP2ServerConnection: @unchecked Sendable {
    package let loop: HTTP2Loop
    /// Unique within its server, in the order of acceptance.
    package let id: UInt64
    /// Room for the handler's own state of this connection; loop thread only.
    package var attachment: AnyObject?

    private let handler: any HTTP2ServerHandler
    private let settings: HTTP2ServerSettings
    private let onEnd: (HTTP2ServerConnection) -> Void
    private var socket: Int32
    private var tls: TLSConnection?
    private var session: HTTP2ServerSession?
    private var wire: HTTP2Wire?
    private var isWatchingWrite = false
    private var isPumping = false
    private var isFlushScheduled = false
    private var isReadScheduled = false
    private var wantsClose = false
    private var isReadingPaused = false
    private var handshakeTimer: LoopTimer?

    init(
        id: UInt64,
        socket: Int32,
        tls: TLSConnection,
        loop: HTTP2Loop,
        settings: HTTP2ServerSettings,
        handler: any HTTP2ServerHandler,
        onEnd: @escaping (HTTP2ServerConnection) -> Void
    ) {
        self.id = id
        self.socket = socket
        self.tls = tls
        self.loop = loop
        self.settings = settings
        self.handler = handler
        self.onEnd = onEnd
    }

    deinit {
        // Only when the loop ended before the connection did.
        if socket >= 0 { Glibc.close(socket) }
    }

    func start(handshakeTimeout: Duration) {
        do throws(SystemCallError) {
            try loop.epoll.watch(socket, for: .read) { _ in self.socketReady() }
        } catch {
            close()
            return
        }
        handshakeTimer = loop.executor.schedule(after: handshakeTimeout) { [weak self] in
            self?.close()
        }
    }

    // MARK: For the handler (loop thread)

    /// Streams that are open now.
    package var activeStreams: Int { session?.activeCount ?? 0 }

    /// PING frames that the peer sent.
    package var pingsReceived: Int { session?.pingsReceived ?? 0 }

    /// Bytes of the peer's header table: what its requests had indexed.
    package var headerTableBytes: Int { session?.headerTableBytes ?? 0 }

    package var isOpen: Bool { socket >= 0 }

    /// Sends an answer; false when the stream is gone or was answered before.
    @discardableResult
    package func respond(_ stream: Int32, _ response: HTTP2ServerResponse) -> Bool {
        loop.executor.preconditionCurrent()
        guard let session, session.respond(stream, response) else { return false }
        if session.queuedFrames > settings.maximumQueuedFrames { wantsClose = true }
        scheduleFlush()
        return true
    }

    /// Sends an answer without a body, whose fields the closure writes; for answers by the thousand.
    @discardableResult
    package func respond(
        _ stream: Int32,
        status: Int,
        fields: (HTTP2FieldWriter) -> Void
    ) -> Bool {
        loop.executor.preconditionCurrent()
        guard let session else { return false }
        let isTaken = session.respond(stream, status: status, body: OutgoingBody()) { encoder in
            fields(HTTP2FieldWriter(encoder: encoder))
            return true
        }
        guard isTaken else { return false }
        if session.queuedFrames > settings.maximumQueuedFrames { wantsClose = true }
        scheduleFlush()
        return true
    }

    /// Resets a stream with a code; false when it is gone.
    @discardableResult
    package func reset(_ stream: Int32, _ code: HTTP2ErrorCode) -> Bool {
        loop.executor.preconditionCurrent()
        guard let session, session.reset(stream, code) else { return false }
        scheduleFlush()
        return true
    }

    /// Changes `SETTINGS_MAX_CONCURRENT_STREAMS` while the connection runs.
    package func setMaximumConcurrentStreams(_ limit: UInt32) {
        loop.executor.preconditionCurrent()
        session?.submitLimit(limit)
        scheduleFlush()
    }

    /// Sends PINGs, whose answers nobody waits for.
    package func sendPings(_ count: Int) {
        loop.executor.preconditionCurrent()
        for _ in 0..<count { session?.ping() }
        scheduleFlush()
    }

    /// Changes `SETTINGS_INITIAL_WINDOW_SIZE` while the connection runs.
    package func setStreamWindow(_ bytes: UInt32) {
        loop.executor.preconditionCurrent()
        session?.submitStreamWindow(bytes)
        scheduleFlush()
    }

    /// GOAWAY in two steps: the notice at once, the last stream once the peer must have seen it.
    ///
    /// A timer and no PING measures the round trip: a session that is closing answers no PING.
    package func shutDownGracefully(
        debugData: [UInt8] = [],
        after roundTrip: Duration = .milliseconds(50)
    ) {
        loop.executor.preconditionCurrent()
        session?.announceShutdown()
        scheduleFlush()
        loop.executor.schedule(after: roundTrip) { [weak self] in
            self?.goAway(debugData: debugData)
        }
    }

    /// One GOAWAY; streams above `lastStream` (default: the last received) end unprocessed.
    ///
    /// With `thenClose` the connection ends as soon as the frame is written.
    package func goAway(
        lastStream: Int32? = nil,
        code: HTTP2ErrorCode = .noError,
        debugData: [UInt8] = [],
        thenClose: Bool = false
    ) {
        loop.executor.preconditionCurrent()
        session?.goAway(lastStream: lastStream, code: code, debugData: debugData)
        if thenClose { wantsClose = true }
        scheduleFlush()
    }

    /// Stops or resumes reading, as a peer that hangs.
    package func pauseReading(_ isPaused: Bool) {
        loop.executor.preconditionCurrent()
        guard isPaused != isReadingPaused else { return }
        isReadingPaused = isPaused
        setInterest()
        if !isPaused { scheduleRead() }
    }

    /// Ends the connection without a word; from within a handler call, right after it.
    package func close() {
        loop.executor.preconditionCurrent()
        guard !isPumping else {
            wantsClose = true
            return
        }
        guard socket >= 0 else { return }
        handshakeTimer?.cancel()
        handshakeTimer = nil
        loop.epoll.unwatch(socket)
        Glibc.close(socket)
        socket = -1
        let wasOpen = session != nil
        session?.onRequest = nil
        session?.onPing = nil
        session = nil
        wire = nil
        tls = nil
        if wasOpen { handler.connectionClosed(self) }
        onEnd(self)
    }

    // MARK: Events

    private func socketReady() {
        if session != nil {
            pump(isReadable: true)
            return
        }
        guard let tls else { return }
        switch tls.handshake() {
        case .ok: startSession(tls)
        case .wantRead: setInterest(writing: false)
        case .wantWrite: setInterest(writing: true)
        case .closed, .failed: close()
        }
    }

    private func startSession(_ tls: TLSConnection) {
        handshakeTimer?.cancel()
        handshakeTimer = nil
        do throws(HTTP2Closure) {
            let session = try HTTP2ServerSession(settings)
            session.onRequest = { [unowned self] request in
                if request.isComplete {
                    handler.requestEnded(&request, on: self)
                } else {
                    handler.requestBegan(request, on: self)
                }
            }
            session.onPing = { [unowned self] in handler.pingReceived(on: self) }
            wire = HTTP2Wire(
                tls: tls,
                session: session.pointer,
                counts: session.counts,
                readBudget: settings.readBudgetOfConnection
            )
            self.session = session
        } catch {
            close()
            return
        }
        setInterest(writing: false)
        handler.connectionOpened(self)
        pump(isReadable: true)
    }

    private func pump(isReadable: Bool) {
        guard let wire, let session, !isPumping else { return }
        isPumping = true
        var isOver = false
        var goOn = false
        if isReadable, !isReadingPaused {
            switch wire.fill() {
            case .done, .blocked: break
            case .more: goOn = true
            case .closed, .failed: isOver = true
            }
        }
        var isBlocked = false
        switch wire.flush() {
        case .done, .more: break
        case .blocked: isBlocked = true
        case .closed, .failed: isOver = true
        }
        isPumping = false
        if wantsClose, !isBlocked { isOver = true }
        if isOver || session.isFinished {
            if !isBlocked { wire.sayGoodbye() }
            close()
            return
        }
        setInterest(writing: isBlocked)
        if goOn { scheduleRead() }
    }

    private func scheduleFlush() {
        guard !isFlushScheduled, !isPumping else { return }
        isFlushScheduled = true
        loop.executor.execute { [weak self] in
            guard let self else { return }
            self.isFlushScheduled = false
            self.pump(isReadable: false)
        }
    }

    /// Reads on after the budget was used up: OpenSSL may hold bytes that epoll does not report.
    private func scheduleRead() {
        guard !isReadScheduled else { return }
        isReadScheduled = true
        loop.executor.execute { [weak self] in
            guard let self else { return }
            self.isReadScheduled = false
            self.pump(isReadable: true)
        }
    }

    private func setInterest(writing: Bool) {
        guard writing != isWatchingWrite else { return }
        isWatchingWrite = writing
        setInterest()
    }

    private func setInterest() {
        guard socket >= 0 else { return }
        var interest: EpollEvents = isReadingPaused ? [] : .read
        if isWatchingWrite { interest.insert(.write) }
        do throws(SystemCallError) {
            try loop.epoll.setInterest(socket, interest)
        } catch {
            wantsClose = true
            scheduleFlush()
        }
    }
}
