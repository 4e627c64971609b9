import CMHD
import Glibc
import Loop
import Synchronization

/// What the callbacks of one daemon share.
final class ServerCore: Sendable {
    struct Table: Sendable {
        var connections: [ObjectIdentifier: ServerConnection] = [:]
        var active = 0
        var idle: CheckedContinuation<Void, Never>?
        var statistics = HTTPServerStatistics()
    }

    let handler: any HTTPHandler
    let limits: HTTPServerLimits
    let encrypted: Bool
    let sourceHeader: String?
    let executor: (any TaskExecutor)?
    let table = Locked(Table())
    /// Makes the deadline thread look again at once; set while it runs.
    ///
    /// A closure directly in a lock box would be wrapped once more at every access, without end.
    struct LookAgain: Sendable {
        var call: (@Sendable () -> Void)?
        /// Takes over the socket of a refused upload.
        var linger: (@Sendable (Int32) -> Void)?
    }
    let lookAgain = Locked(LookAgain())
    /// New requests are refused.
    let stopping = Atomic(false)
    /// Nothing is suspended any more.
    let forced = Atomic(false)

    init(handler: any HTTPHandler, configuration: HTTPServerConfiguration) {
        self.handler = handler
        limits = configuration.limits
        encrypted = configuration.tls != nil
        sourceHeader = configuration.trustedProxy ? configuration.sourceHeader : nil
        executor = configuration.executor
    }

    // MARK: Connections

    func opened(_ handle: OpaquePointer) -> ServerConnection {
        let connection = ServerConnection(
            descriptor: cmhd_descriptor(handle),
            peer: ListenAddress.text(of: cmhd_client_address(handle)),
            deadline: .after(limits.headTimeout)
        )
        table.withLock { table in
            table.connections[ObjectIdentifier(connection)] = connection
            table.statistics.connectionsOpened += 1
        }
        return connection
    }

    func closed(_ connection: ServerConnection) {
        let lingers = connection.state.withLock { state -> Bool in
            state.phase = .closed
            state.deadline = .never
            return state.lingers
        }
        swallowPending(connection.descriptor)
        if lingers { linger(connection.descriptor) }
        table.withLock { table in
            table.connections[ObjectIdentifier(connection)] = nil
            table.statistics.connectionsClosed += 1
        }
    }

    /// Reads what already arrived: closing a socket with unread bytes resets the connection, and
    /// a reset can overtake the reply that explains the refusal.
    private func swallowPending(_ descriptor: Int32) {
        withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 8) { buffer in
            for _ in 0..<(limits.drainBytes / 16_384 + 1) {
                let flags = Int32(MSG_DONTWAIT)
                let count = recv(descriptor, buffer.baseAddress, buffer.count, flags)
                guard count > 0 else { return }
            }
        }
    }

    /// Hands a second descriptor of the socket to the deadline thread, so that closing the first
    /// one ends nothing yet.
    private func linger(_ descriptor: Int32) {
        guard !encrypted, let take = lookAgain.withLock({ $0.linger }) else { return }
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { return }
        shutdown(copy, Int32(SHUT_WR))
        take(copy)
    }

    // MARK: Requests

    /// The first call of a request: decides whether its body is wanted.
    func begin(_ connection: ServerConnection, _ handle: OpaquePointer, _ head: HTTPRequestHead)
        -> MHD_Result
    {
        var head = head
        head.source = source(of: head, connection)
        let entered = enter()
        var admission: HTTPAdmission
        let isPlain = head.isFramedPlainly
        if !isPlain {
            count(.malformed)
            var response = handler.refusal(.malformed, head)
            // Whatever follows on this connection may be anybody's.
            response.headers.append(("Connection", "close"))
            admission = .respond(response)
        } else if stopping.load(ordering: .acquiring) {
            admission = .respond(handler.refusal(.stopping, head))
        } else if !entered {
            admission = .respond(handler.refusal(.busy, head))
        } else {
            admission = handler.admit(head)
        }
        var admitted = false
        var immediate: HTTPResponse?
        var plan = Exchange.Plan.read(limit: 0)
        switch admission {
        case .read(let limit):
            admitted = true
            plan = .read(limit: limit)
            if let length = declaredLength(head), length > limit {
                count(.bodyTooLarge)
                immediate = handler.refusal(.bodyTooLarge, head)
            }
        case .respond(let response):
            plan = .drain(response)
            if !isPlain || !drainable(head) { immediate = response }
        }
        let serial = install(connection, handle, head, plan, admitted: admitted, counted: entered)
        guard let immediate else { return .YES }
        connection.state.withLock { $0.lingers = true }
        return queue(immediate, connection, serial, handle)
    }

    private func install(
        _ connection: ServerConnection,
        _ handle: OpaquePointer,
        _ head: HTTPRequestHead,
        _ plan: Exchange.Plan,
        admitted: Bool,
        counted: Bool
    ) -> UInt64 {
        let mhd = ConnectionHandle(pointer: handle)
        let deadline = Deadline.after(limits.uploadTimeout)
        return connection.state.withLock { state -> UInt64 in
            state.serial += 1
            state.phase = .upload
            state.deadline = deadline
            state.exchange = Exchange(
                serial: state.serial,
                head: head,
                handle: mhd,
                plan: plan,
                admitted: admitted,
                counted: counted
            )
            return state.serial
        }
    }

    /// A piece of the body. Returning `.NO` cuts the connection without a reply.
    func receive(_ connection: ServerConnection, _ bytes: UnsafeRawBufferPointer) -> MHD_Result {
        let drainBytes = limits.drainBytes
        let goesOn = connection.state.withLock { state -> Bool in
            guard state.phase == .upload, state.exchange != nil else { return false }
            state.exchange?.received += bytes.count
            let received = state.exchange?.received ?? 0
            switch state.exchange?.plan {
            case .read(let limit) where received <= limit:
                state.exchange?.body.append(contentsOf: bytes)
                return true
            case .read(let limit):
                state.exchange?.body = []
                return received <= max(drainBytes, limit)
            case .drain, nil:
                return received <= drainBytes
            }
        }
        if !goesOn { count(.bodyTooLarge) }
        return goesOn ? .YES : .NO
    }

    /// The body is complete, or the suspended request has its reply.
    func proceed(_ connection: ServerConnection, _ handle: OpaquePointer) -> MHD_Result {
        enum Step {
            case reply(HTTPResponse, UInt64)
            case refuse(HTTPRefusal, HTTPRequestHead, UInt64)
            case work(HTTPRequest, UInt64)
            case cut
        }
        let deadline = Deadline.after(limits.requestTimeout)
        let step = connection.state.withLock { state -> Step in
            guard state.phase != .closed, let exchange = state.exchange else { return .cut }
            if state.cutByDeadline { return .cut }
            if let reply = exchange.reply { return .reply(reply, exchange.serial) }
            switch exchange.plan {
            case .drain(let response):
                return .reply(response, exchange.serial)
            case .read(let limit) where exchange.received > limit:
                return .refuse(.bodyTooLarge, exchange.head, exchange.serial)
            case .read:
                guard !exchange.started else { return .cut }
                if forced.load(ordering: .acquiring) {
                    return .refuse(.stopping, exchange.head, exchange.serial)
                }
                state.exchange?.started = true
                state.exchange?.suspended = true
                state.exchange?.body = []
                state.phase = .waiting
                state.deadline = deadline
                MHD_suspend_connection(handle)
                return .work(
                    HTTPRequest(head: exchange.head, body: exchange.body),
                    exchange.serial
                )
            }
        }
        switch step {
        case .reply(let response, let serial):
            return queue(response, connection, serial, handle)
        case .refuse(let refusal, let head, let serial):
            count(refusal)
            return queue(handler.refusal(refusal, head), connection, serial, handle)
        case .work(let request, let serial):
            launch(request, connection, serial)
            return .YES
        case .cut:
            return .NO
        }
    }

    /// libmicrohttpd is done with the request, for better or worse.
    func completed(_ connection: ServerConnection) {
        let deadline = Deadline.after(limits.idleTimeout)
        let exchange = connection.state.withLock { state -> Exchange? in
            let exchange = state.exchange
            state.exchange = nil
            if state.phase != .closed {
                state.phase = .head
                state.deadline = deadline
            }
            return exchange
        }
        guard let exchange else { return }
        CrashPoint.reach("\(exchange.head.method) \(exchange.head.path) replied")
        exchange.task?.cancel()
        exchange.stream?.drained?.resume(returning: false)
        table.withLock { table in
            if exchange.counted { table.active -= 1 }
            table.statistics.requests += 1
        }
        if exchange.admitted { handler.ended(exchange.head) }
        let idle = table.withLock { table -> CheckedContinuation<Void, Never>? in
            guard table.active == 0 else { return nil }
            let idle = table.idle
            table.idle = nil
            return idle
        }
        idle?.resume()
    }

    private func launch(_ request: HTTPRequest, _ connection: ServerConnection, _ serial: UInt64) {
        let handler = handler
        let writeTimeout = limits.writeTimeout
        let task = Task(executorPreference: executor) {
            let response = await handler.respond(request)
            connection.finish(serial, response, deadline: .after(writeTimeout))
        }
        connection.attach(serial, task)
    }

    // MARK: Details

    private func enter() -> Bool {
        let most = limits.concurrentRequests
        return table.withLock { table in
            guard table.active < most else {
                table.statistics.refused[.busy, default: 0] += 1
                return false
            }
            table.active += 1
            return true
        }
    }

    func count(_ refusal: HTTPRefusal) {
        table.withLock { $0.statistics.refused[refusal, default: 0] += 1 }
    }

    private func declaredLength(_ head: HTTPRequestHead) -> Int? {
        head.headers["Content-Length"].map { Int($0) ?? .max }
    }

    /// Whether the body is worth reading to keep the connection: small, and not being held back
    /// by a client that waits for 100 Continue.
    private func drainable(_ head: HTTPRequestHead) -> Bool {
        guard head.headers["Expect"] == nil, head.headers["Transfer-Encoding"] == nil else {
            return false
        }
        let length = declaredLength(head) ?? 0
        return length <= limits.drainBytes
    }

    private func source(of head: HTTPRequestHead, _ connection: ServerConnection) -> String {
        guard let sourceHeader else { return connection.peer }
        guard let value = head.headers.all(sourceHeader).last else { return "unknown" }
        let last = value.split(separator: ",").last.map(String.init) ?? ""
        let text = last.filter { $0 != " " && $0 != "\t" }
        return text.isEmpty || text.utf8.count > 45 ? "unknown" : text
    }
}

/// Counts since the start of a server.
package struct HTTPServerStatistics: Sendable {
    package var connectionsOpened = 0
    package var connectionsClosed = 0
    /// Requests that ended, with whatever outcome.
    package var requests = 0
    /// Refusals by the server itself, cuts over the limit included.
    package var refused: [HTTPRefusal: Int] = [:]
}
