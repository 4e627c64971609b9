import Contracts
import Loop
import ServiceKit
import ZeroMQ

/// The ROUTER socket of one server, confined to the loop's thread.
actor BusServerLink {
    struct Settings: Sendable {
        var endpoint: BusEndpoint
        var curve: (keys: CurveKeyPair, authority: BusAuthority, domain: String)?
        var inFlight: Int
    }

    /// An answer that waits because its peer's queue is full.
    private struct Blocked {
        let envelope: ZeroMQEnvelope
        let frames: [[UInt8]]
        var retriesLeft: Int
        let done: (Bool) -> Void
    }

    private static let retryInterval = Duration.milliseconds(5)
    private static let retries = 2000
    /// How long a connection stays open after an answer. When it ends, the peer's libzmq throws away
    /// what has arrived there and was not read yet (ZMQ_IMMEDIATE), and the peer would believe that
    /// there was no answer.
    private static let readingTime = Duration.milliseconds(100)
    /// How often a changed allow-list is looked for.
    private static let refreshInterval = Duration.seconds(1)

    nonisolated let incoming: BoundedChannel<ZeroMQMessage>
    nonisolated private let runtime: BusRuntime
    private let settings: Settings
    private let dispatcher: BusDispatcher
    private let metrics: BusServerMetrics
    private let log: Log
    private var socket: ZeroMQSocket?
    private var registration: ZeroMQPollBackend.Registration?
    private var address: IPCAddress?
    private var inFlight = 0
    private var takesMore = true
    private var blocked: [Blocked] = []
    private var failure: ZeroMQError?
    private var lastAnswer: MonotonicInstant?

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        runtime.loop.asUnownedSerialExecutor()
    }

    init(
        runtime: BusRuntime,
        settings: Settings,
        dispatcher: BusDispatcher,
        metrics: BusServerMetrics,
        log: Log
    ) {
        self.runtime = runtime
        self.settings = settings
        self.dispatcher = dispatcher
        self.metrics = metrics
        self.log = log
        incoming = BoundedChannel(capacity: settings.inFlight)
    }

    // MARK: - Opening and closing

    /// Binds and starts to read; returns the endpoint with the real port.
    func open() async throws -> BusEndpoint {
        var curve: ZeroMQCurve?
        if let (keys, authority, domain) = settings.curve {
            try await runtime.authenticator.admit(domain: domain, authority: authority) {
                [weak self] in self?.authenticationFailed()
            }
            curve = .server(keys, domain: domain)
        }
        let socket = try ZeroMQSocket(
            .router,
            context: runtime.context,
            options: .router(window: settings.inFlight, curve: curve),
            on: runtime.loop
        )
        var endpoint = settings.endpoint
        switch endpoint.transport {
        case .ipc(let path):
            let address = try IPCAddress(path: path)
            try address.bind(socket)
            self.address = address
        case .tcp(let host, _):
            let bound = try socket.bind(endpoint.address)
            let port = bound.split(separator: ":").last.flatMap { UInt16($0) }
            if let port { endpoint = BusEndpoint(.tcp(host, port)) }
        }
        self.socket = socket
        registration = runtime.backend.register(socket) { [weak self] in
            self?.assumeIsolated { $0.readable() }
        }
        if settings.curve != nil { refreshLater() }
        log.info(
            "bus server bound",
            [
                "endpoint": .string(endpoint.address),
                "security": settings.curve == nil ? "directory of this user" : "curve, allow-list",
            ]
        )
        return endpoint
    }

    /// Stops reading; what has been read is still answered.
    nonisolated func endIntake() {
        runtime.loop.execute { self.assumeIsolated { $0.endIntakeNow() } }
    }

    private func endIntakeNow() {
        takesMore = false
        registration?.wantsRead = false
        incoming.finish()
    }

    nonisolated private func authenticationFailed() {
        runtime.loop.execute {
            self.assumeIsolated { link in
                link.failure = .refused(
                    "bus authentication",
                    "the ZAP handler has ended, so no new client can be let in; restart"
                )
                link.endIntakeNow()
            }
        }
    }

    /// Unbinds once the last answers had time to leave and to be read; the failure that ended the
    /// server.
    @discardableResult
    func close() async -> ZeroMQError? {
        endIntakeNow()
        for entry in blocked { entry.done(false) }
        blocked = []
        await waitForReaders()
        if let registration { runtime.backend.remove(registration) }
        registration = nil
        if let domain = settings.curve?.domain {
            await runtime.authenticator.release(domain: domain)
        }
        socket?.close(lingerMilliseconds: 200)
        socket = nil
        address?.remove()
        address = nil
        return failure
    }

    private func waitForReaders() async {
        guard let lastAnswer else { return }
        let rest = Self.readingTime - lastAnswer.duration(to: SystemTime().monotonic)
        guard rest > .zero else { return }
        await withCheckedContinuation { continuation in
            runtime.loop.schedule(after: rest) { continuation.resume() }
        }
    }

    private func refreshLater() {
        guard takesMore, let authority = settings.curve?.authority else { return }
        let log = log
        runtime.loop.schedule(after: Self.refreshInterval) { [weak self] in
            authority.refresh(log: log)
            self?.assumeIsolated { $0.refreshLater() }
        }
    }

    // MARK: - Receiving

    private func readable() {
        guard let socket else { return }
        do throws(ZeroMQError) {
            while takesMore && inFlight < settings.inFlight {
                switch try socket.receive(limits: .bus) {
                case .nothing, .draining: return
                case .message(let message):
                    metrics.received.add()
                    guard incoming.trySend(message) else { continue }
                    inFlight += 1
                    metrics.inFlight.add(1)
                case .excessive(let envelope, _, let frames, let bytes):
                    metrics.received.add()
                    reject(envelope, frames: frames, bytes: bytes)
                }
            }
            registration?.wantsRead = false
        } catch {
            failure = error
            log.error("bus server failed", ["error": .error(error)])
            endIntakeNow()
        }
    }

    private func reject(_ envelope: ZeroMQEnvelope, frames: Int, bytes: Int) {
        log.warning("bus message too large", ["frames": .int(frames), "bytes": .int(bytes)])
        let reject = Reject(
            .tooLarge,
            "a message has at most \(BusLimits.frames) frames and \(BusLimits.messageBytes) bytes"
        )
        send(envelope, dispatcher.frames(rejecting: reject, re: nil)) { _ in }
    }

    // MARK: - Sending

    /// Sends the last frames of a request, if any, and frees its slot.
    nonisolated func finish(_ envelope: ZeroMQEnvelope, _ frames: [[UInt8]]?) {
        runtime.loop.execute {
            self.assumeIsolated { link in
                guard let frames else { return link.free() }
                link.send(envelope, frames) { _ in link.assumeIsolated { $0.free() } }
            }
        }
    }

    /// Sends one message of a stream; returns once libzmq has it, or false when it never will.
    func emit(_ envelope: ZeroMQEnvelope, _ frames: [[UInt8]]) async -> Bool {
        await withCheckedContinuation { continuation in
            send(envelope, frames) { continuation.resume(returning: $0) }
        }
    }

    private func free() {
        inFlight -= 1
        metrics.inFlight.add(-1)
        if takesMore { registration?.wantsRead = true }
    }

    private func send(
        _ envelope: ZeroMQEnvelope,
        _ frames: [[UInt8]],
        _ done: @escaping (Bool) -> Void
    ) {
        let entry = Blocked(
            envelope: envelope,
            frames: frames,
            retriesLeft: Self.retries,
            done: done
        )
        // Answers to one peer keep their order behind those that wait already.
        if blocked.contains(where: { $0.envelope.routingID == envelope.routingID }) {
            blocked.append(entry)
        } else if let sent = attempt(entry) {
            done(sent)
        } else {
            blocked.append(entry)
            if blocked.count == 1 { retryLater() }
        }
    }

    /// Whether libzmq took it; nil when the peer is full and it may be tried again.
    private func attempt(_ entry: Blocked) -> Bool? {
        guard let socket else { return false }
        do throws(ZeroMQError) {
            CrashPoint.reach("\(BusHeaderCodec.type(of: entry.frames)) sending")
            switch try socket.send(entry.envelope, entry.frames) {
            case .sent:
                CrashPoint.reach("\(BusHeaderCodec.type(of: entry.frames)) sent")
                metrics.answered.add()
                lastAnswer = SystemTime().monotonic
                return true
            case .unreachable:
                metrics.unreachable.add()
                return false
            case .full: return nil
            }
        } catch {
            log.error("bus answer failed", ["error": .error(error)])
            return false
        }
    }

    private func retryLater() {
        runtime.loop.schedule(after: Self.retryInterval) { [weak self] in
            self?.assumeIsolated { $0.retry() }
        }
    }

    private func retry() {
        let entries = blocked
        blocked = []
        var stuck: Set<[UInt8]> = []
        for var entry in entries {
            entry.retriesLeft -= 1
            let isStuck = stuck.contains(entry.envelope.routingID)
            if !isStuck, let sent = attempt(entry) {
                entry.done(sent)
            } else if entry.retriesLeft > 0 {
                stuck.insert(entry.envelope.routingID)
                blocked.append(entry)
            } else {
                metrics.full.add()
                entry.done(false)
            }
        }
        if !blocked.isEmpty { retryLater() }
    }
}
