import Glibc
import Loop
import TLS

extension HTTP2ClientConnection {
    /// Looks the host up, connects, verifies the peer and begins HTTP/2, all within the timeout.
    ///
    /// Throws the reason, which is also the state afterwards. A second call waits for the first.
    package func connect(timeout: Duration) async throws(HTTP2Closure) {
        let failure = await withUnsafeContinuation { continuation in
            onLoop { self.startConnecting(timeout: timeout, waiter: continuation) }
        }
        if let failure { throw failure }
    }

    /// The same from the loop thread; `onChange` tells the end.
    package func startConnecting(timeout: Duration) {
        loop.executor.preconditionCurrent()
        startConnecting(timeout: timeout, waiter: nil)
    }

    /// Runs the closure on the loop: at once if the caller is there, else soon.
    func onLoop(_ body: @escaping @Sendable () -> Void) {
        if loop.executor.isCurrent { body() } else { loop.executor.execute(body) }
    }

    private func startConnecting(
        timeout: Duration,
        waiter: UnsafeContinuation<HTTP2Closure?, Never>?
    ) {
        switch state {
        case .closed(let closure):
            waiter?.resume(returning: closure)
            return
        case .ready, .draining:
            waiter?.resume(returning: nil)
            return
        case .connecting:
            if let waiter { connectWaiters.append(waiter) }
            return
        case .idle:
            if let waiter { connectWaiters.append(waiter) }
        }
        setState(.connecting)
        connectDeadline =
            monotonicNanoseconds().addingReportingOverflow(
                timeout.nanosecondsClamped
            ).partialValue
        connectTimer = loop.executor.schedule(after: timeout) { [weak self] in
            self?.close(.connectTimeout)
        }
        let host = configuration.host
        let port = configuration.port
        do throws(HTTP2Closure) {
            tryAddresses(
                try SocketAddress.resolve(host: host, port: port, numericOnly: true)
            )
        } catch {
            // Not an address literal: ask the name service, on a thread of the resolver's.
            resolver.resolve(host: host, port: port) { result in
                self.loop.executor.execute { self.resolved(result) }
            }
        }
    }

    private func resolved(_ result: Result<[SocketAddress], HTTP2Closure>) {
        guard state == .connecting else { return }
        switch result {
        case .success(let found): tryAddresses(found)
        case .failure(let closure): close(closure)
        }
    }

    private func tryAddresses(_ found: [SocketAddress]) {
        addresses = found[...]
        tryNextAddress()
    }

    private func tryNextAddress() {
        dropSocket()
        guard let address = addresses.popFirst() else {
            close(.connect(lastConnectError))
            return
        }
        limitAttempt()
        do throws(SystemCallError) {
            socket = try makeStreamSocket(family: address.family)
            let code = address.with { Glibc.connect(socket, $0, $1) }
            if code != 0, errno != EINPROGRESS {
                lastConnectError = String(cString: strerror(errno))
                tryNextAddress()
                return
            }
            try loop.epoll.watch(socket, for: .write) { _ in self.socketReady() }
            isWatchingWrite = true
        } catch {
            lastConnectError = error.description
            tryNextAddress()
        }
    }

    /// Gives an address that others wait behind its share of the time that is left: equal shares,
    /// but no less than a quarter. The last one has all of it.
    private func limitAttempt() {
        attemptTimer?.cancel()
        attemptTimer = nil
        guard !addresses.isEmpty else { return }
        let left = max(0, connectDeadline - monotonicNanoseconds())
        let share = left / Int64(min(addresses.count + 1, 4))
        attemptTimer = loop.executor.schedule(after: .nanoseconds(share)) { [weak self] in
            guard let self, state == .connecting else { return }
            lastConnectError = "no answer in time"
            tryNextAddress()
        }
    }

    private func dropSocket() {
        tls = nil
        guard socket >= 0 else { return }
        loop.epoll.unwatch(socket)
        Glibc.close(socket)
        socket = -1
    }

    /// Every event of the socket comes here, in all phases.
    private func socketReady() {
        if session != nil {
            pump(isReadable: true)
        } else if tls != nil {
            goOnWithHandshake()
        } else {
            finishTCP()
        }
    }

    private func finishTCP() {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &length)
        guard code == 0 else {
            lastConnectError = String(cString: strerror(code))
            tryNextAddress()
            return
        }
        do throws(TLSError) {
            tls = try TLSConnection.client(
                configuration.tls,
                socket: socket,
                serverName: configuration.serverName
            )
            goOnWithHandshake()
        } catch {
            close(.transport(error))
        }
    }

    private func goOnWithHandshake() {
        guard let tls else { return }
        switch tls.handshake() {
        case .ok: startSession(tls)
        case .wantRead: watch(writing: false)
        case .wantWrite: watch(writing: true)
        case .closed: close(.peer)
        case .failed(let error): close(.transport(error))
        }
    }

    private func startSession(_ tls: TLSConnection) {
        do throws(HTTP2Closure) {
            let session = try HTTP2ClientSession(configuration)
            wire = HTTP2Wire(
                tls: tls,
                session: session.pointer,
                counts: session.counts,
                readBudget: configuration.readBudget
            )
            self.session = session
        } catch {
            close(error)
            return
        }
        cancelConnectTimers()
        watch(writing: false)
        let waiters = connectWaiters
        connectWaiters = []
        setState(.ready)
        for waiter in waiters { waiter.resume(returning: nil) }
        pump(isReadable: true)
    }

    func cancelConnectTimers() {
        connectTimer?.cancel()
        connectTimer = nil
        attemptTimer?.cancel()
        attemptTimer = nil
    }

    /// Watches for reading and, while output is stuck, for writing.
    func watch(writing: Bool) {
        guard socket >= 0, writing != isWatchingWrite else { return }
        do throws(SystemCallError) {
            try loop.epoll.setInterest(socket, writing ? [.read, .write] : .read)
            isWatchingWrite = writing
        } catch {
            close(.connect(error.description))
        }
    }
}
