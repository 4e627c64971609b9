import Glibc
import Loop
import TLS

/// One client connection: TCP, TLS and HTTP/2, confined to the thread of its loop.
///
/// Calls without `async` must come on the loop thread; `async` ones may come from anywhere and cost
/// no change of thread when the caller runs on the loop. The connection has no queue: a request
/// beyond `capacity` is answered `.notSent(.noCapacity)` at once, and `onChange` or
/// `waitForCapacity` tell when there is room. A closed connection is not reused: make a new one.
/// From `connect` on it lives until it is closed, whoever still holds it.
// Sendable by proof: every stored `var` is touched on the loop thread only, which each entry point
// checks with `preconditionCurrent` or reaches through the executor.
package final class HTTP2ClientConnection: @unchecked Sendable {
    package enum State: Sendable, Hashable {
        case idle
        case connecting
        case ready
        /// No new request is taken; those under way go on. Nil if this side wished it or the
        /// stream numbers ran out, else what the peer's GOAWAY said.
        case draining(HTTP2GoAway?)
        case closed(HTTP2Closure)
    }

    package let configuration: HTTP2ClientConfiguration
    package let loop: HTTP2Loop
    let resolver: NameResolver

    package internal(set) var state = State.idle
    /// The last GOAWAY of the peer, kept after the connection closed. Without requests under way
    /// nghttp2 reads nothing behind a GOAWAY, so that of a two-step end only the first is seen.
    package internal(set) var goAway: HTTP2GoAway?
    /// Called after `state`, `capacity` or `streamLimit` changed; on the loop thread.
    package var onChange: (() -> Void)?
    /// Takes the outcomes of tagged requests in batches, on the loop thread; may submit more.
    package var onOutcomes: ((ArraySlice<HTTP2Completion>) -> Void)?

    // Connecting.
    var socket: Int32 = -1
    var tls: TLSConnection?
    var addresses: ArraySlice<SocketAddress> = []
    var connectTimer: LoopTimer?
    /// When `connectTimer` ends; monotonic nanoseconds.
    var connectDeadline = Int64.max
    /// Ends the try of one address.
    var attemptTimer: LoopTimer?
    var lastConnectError = "no address"
    var connectWaiters: [UnsafeContinuation<HTTP2Closure?, Never>] = []
    // Running.
    var session: HTTP2ClientSession?
    var wire: HTTP2Wire?
    var isWatchingWrite = false
    var needsAnotherRound = false
    var isFlushScheduled = false
    var isPumping = false
    var deadlineTimer: LoopTimer?
    var deadlineTimerAt = Int64.max
    var ping = PingState()
    var capacityWaiters: [CapacityWaiter] = []
    var nextID: UInt64 = 0
    var batch: [HTTP2Completion] = []
    /// Room for the outcomes of the next batch.
    var delivered: [(reply: HTTP2ClientSession.Reply, outcome: HTTP2Outcome)] = []
    /// The timeout of the last request in nanoseconds: it seldom changes and is dear to convert.
    var lastTimeout: (duration: Duration, nanoseconds: Int64) = (.zero, 0)
    var hasNewState = false
    /// What the owner could see last; a change of it is worth a call.
    var seenCapacity = 0
    var seenLimit = 1

    package init(
        _ configuration: HTTP2ClientConfiguration,
        loop: HTTP2Loop,
        resolver: NameResolver
    ) {
        var configuration = configuration
        configuration.maximumStreams = min(10_000, max(1, configuration.maximumStreams))
        configuration.readBudget = max(1, configuration.readBudget)
        self.configuration = configuration
        self.loop = loop
        self.resolver = resolver
    }

    deinit {
        // Only when the loop ended before the connection did.
        if socket >= 0 { Glibc.close(socket) }
    }

    // MARK: What the pool wants to know (loop thread)

    /// Requests under way, those included whose stream is still being reset.
    package var activeStreams: Int { session?.activeCount ?? 0 }

    /// Streams allowed now: the smaller of this side's cap and the peer's SETTINGS, 1 before the
    /// first SETTINGS and, if configured, until the first success.
    package var streamLimit: Int {
        guard let session else { return 1 }
        if configuration.singleStreamUntilFirstSuccess, !session.hasSucceeded { return 1 }
        return min(configuration.maximumStreams, session.remoteStreamLimit)
    }

    /// Requests that `submit` takes now.
    package var capacity: Int {
        guard state == .ready, let session else { return 0 }
        let active = session.activeCount
        let reserve = configuration.windowReserve
        if reserve > 0, active > 0, session.windowLeft < reserve { return 0 }
        return max(0, min(streamLimit, configuration.maximumStreams) - active)
    }

    /// Bytes that the peer's connection window still takes, what is under way already counted; below
    /// zero bodies wait in this process.
    package var windowLeft: Int { session?.windowLeft ?? 65_535 }

    /// Requests in a row that ended by their deadline without an answer.
    package var silentStreams: Int { session?.silentStreams ?? 0 }

    /// Requests begun since the connection was made.
    package var requestsBegun: Int { session?.requestsBegun ?? 0 }

    // MARK: Requests (loop thread)

    /// Begins a request; nil means that its outcome will come through `onOutcomes`, exactly once.
    ///
    /// Frames of requests that are submitted together leave together. The timeout runs from now to
    /// the end of the answer.
    package func submit(
        _ request: HTTP2Request,
        tag: UInt64,
        timeout: Duration
    ) -> HTTP2NotSent? {
        loop.executor.preconditionCurrent()
        return begin(request, timeout: timeout, reply: .tag(tag))
    }

    func begin(
        _ request: HTTP2Request,
        timeout: Duration,
        reply: HTTP2ClientSession.Reply
    ) -> HTTP2NotSent? {
        guard state == .ready, let session else { return .notReady }
        let room = capacity
        guard room > 0 else { return .noCapacity }
        if timeout != lastTimeout.duration {
            lastTimeout = (timeout, timeout.nanosecondsClamped)
        }
        let deadline = monotonicNanoseconds() &+ lastTimeout.nanoseconds
        if let refusal = session.submit(request, deadline: deadline, reply: reply) {
            if refusal == .notReady, !session.allowsRequests { setState(.draining(nil)) }
            return refusal
        }
        seenCapacity = min(seenCapacity, room - 1)
        if deadline < deadlineTimerAt { armDeadlineTimer(at: deadline) }
        scheduleFlush()
        return nil
    }

    /// Takes no new requests, finishes those under way, then closes.
    package func drain() {
        loop.executor.preconditionCurrent()
        switch state {
        case .ready:
            setState(.draining(nil))
            closeIfDrained()
        case .idle, .connecting: close(.local)
        case .draining, .closed: break
        }
    }

    /// Ends the connection now; requests under way get their outcome before this returns.
    package func close() {
        loop.executor.preconditionCurrent()
        close(.local)
    }

    // MARK: State

    func setState(_ new: State) {
        state = new
        hasNewState = true
        noteChange()
    }

    /// Tells the owner and the waiters of another state, another limit or more room.
    func noteChange() {
        let capacity = capacity
        let limit = streamLimit
        guard hasNewState || capacity > seenCapacity || limit != seenLimit else { return }
        hasNewState = false
        seenCapacity = capacity
        seenLimit = limit
        wakeCapacityWaiters()
        onChange?()
    }

    func closeIfDrained() {
        guard case .draining = state, let session, session.activeCount == 0 else { return }
        close(goAway == nil ? .local : .peer)
    }

    func close(_ closure: HTTP2Closure) {
        if case .closed = state { return }
        cancelConnectTimers()
        deadlineTimer?.cancel()
        deadlineTimer = nil
        deadlineTimerAt = .max
        if closure == .local, !isPumping, let session, session.activeCount == 0 {
            session.sayGoodbye()
            _ = wire?.flush()
        }
        if socket >= 0 {
            if closure == .local || closure == .peer { wire?.sayGoodbye() }
            loop.epoll.unwatch(socket)
            Glibc.close(socket)
            socket = -1
        }
        state = .closed(closure)
        hasNewState = true
        session?.connectionLost()
        deliver()
        finishPing(answered: false)
        let waiters = connectWaiters
        connectWaiters = []
        for waiter in waiters { waiter.resume(returning: closure) }
        noteChange()
        wire = nil
        tls = nil
        // An owner that is called back from here must not keep the connection alive.
        onChange = nil
        onOutcomes = nil
    }
}
