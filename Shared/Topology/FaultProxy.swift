import Glibc
import Loop

/// Forwards bytes between the peers of an endpoint and the endpoint itself, and breaks the link in
/// the ways networks and processes do.
///
/// It knows nothing of the protocol: a cut may fall in the middle of a frame.
package final class FaultProxy: Sendable {
    /// How the link misbehaves; every field is in force from the moment it is set.
    package struct Faults: Hashable, Sendable {
        /// Each piece waits that long before it goes on, one piece at a time.
        package var delay = Duration.zero
        /// Nothing is read: both sides see a peer that has stopped, and their buffers fill.
        package var isPaused = false
        /// What is read is thrown away: both sides see a connection over which nothing comes.
        package var swallows = false
        /// Only what comes from the endpoint is thrown away: requests arrive, answers do not.
        package var swallowsAnswers = false
        /// New connections are closed at once.
        package var refuses = false
        /// Connections that end are reset: what is on its way to either side is lost.
        package var resets = false
        /// The most that is read and passed on in one piece, 64 KiB at most; with a delay, a rate.
        package var pieceBytes = 65_536
        /// A connection is closed once that many bytes went over it, both directions together.
        package var cutAfterBytes: Int?

        package init() {}
    }

    /// What went through so far.
    package struct Statistics: Hashable, Sendable {
        /// Connections taken from peers, refused ones included.
        package var connections = 0
        /// Connections that are open.
        package var open = 0
        /// Bytes passed on from peers to the endpoint.
        package var bytesForward = 0
        /// Bytes passed on from the endpoint to peers.
        package var bytesBack = 0
    }

    /// Where peers connect to; port 0 is replaced by the real one.
    package let address: StreamAddress
    /// Where their bytes go; it need not be there yet.
    package let target: StreamAddress

    private let loop: LoopExecutor
    private let core: FaultProxyCore

    /// Listens at once.
    package init(listen address: StreamAddress, target: StreamAddress) throws {
        let (listener, bound) = try address.listen()
        do {
            let backend = try EpollBackend()
            let loop = try LoopExecutor(name: "fault proxy", backend: backend)
            self.loop = loop
            core = FaultProxyCore(listener: listener, target: target, loop: loop, backend: backend)
        } catch {
            close(listener)
            throw error
        }
        self.address = bound
        self.target = target
        let core = core
        loop.execute { core.begin() }
    }

    /// The faults in force.
    package var faults: Faults {
        core.faults.withLock { $0 }
    }

    /// Puts other faults in force; returns once every connection follows them.
    package func set(_ change: @Sendable (inout Faults) -> Void) async {
        core.faults.withLock { change(&$0) }
        let core = core
        await onLoop { core.faultsChanged() }
    }

    /// Closes all connections; new ones are taken unless `refuses` is set.
    package func dropConnections() async {
        let core = core
        await onLoop { core.dropAll() }
    }

    /// What went through so far.
    package var statistics: Statistics {
        core.statistics.withLock { $0 }
    }

    /// Keeps what passes from now on, both directions as they come, 64 MiB at most.
    package func record() { core.recording.withLock { $0 = $0 ?? [] } }

    /// What was kept since ``record()``.
    package var recorded: [UInt8] { core.recording.withLock { $0 ?? [] } }

    /// Closes the listener and all connections and ends the thread; may be called twice.
    package func stop() async {
        let core = core
        await onLoop { core.end() }
        loop.stop()
        if case .path(let path) = address { unlink(path) }
    }

    private func onLoop(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            loop.execute {
                body()
                continuation.resume()
            }
        }
    }
}

/// The part of the proxy that lives on its loop.
// Sendable by proof: `listener` and `links` are touched on the loop thread only, as all methods
// are called there; the lock boxes are thread-safe and the rest is constant.
final class FaultProxyCore: @unchecked Sendable {
    let faults = Locked(FaultProxy.Faults())
    let statistics = Locked(FaultProxy.Statistics())
    let recording = Locked<[UInt8]?>(nil)
    let loop: LoopExecutor
    let backend: EpollBackend
    private let target: StreamAddress
    private var listener: Int32?
    private var links: [ObjectIdentifier: FaultProxyLink] = [:]

    init(listener: Int32, target: StreamAddress, loop: LoopExecutor, backend: EpollBackend) {
        self.listener = listener
        self.target = target
        self.loop = loop
        self.backend = backend
    }

    func begin() {
        guard let listener else { return }
        do {
            try backend.watch(listener, for: .read) { [weak self] _ in self?.accept() }
        } catch {
            end()
        }
    }

    private func accept() {
        guard let listener else { return }
        while case let peer = Glibc.accept(listener, nil, nil), peer >= 0 {
            statistics.withLock { $0.connections += 1 }
            _ = fcntl(peer, F_SETFD, FD_CLOEXEC)
            _ = fcntl(peer, F_SETFL, O_NONBLOCK)
            guard !faults.withLock({ $0.refuses }), let far = try? target.startConnecting() else {
                close(peer)
                continue
            }
            let link = FaultProxyLink(core: self, peer: peer, far: far)
            links[ObjectIdentifier(link)] = link
            statistics.withLock { $0.open = links.count }
            link.begin()
        }
    }

    func faultsChanged() {
        for link in links.values { link.follow() }
    }

    func dropAll() {
        for link in links.values { link.end() }
    }

    func forget(_ link: FaultProxyLink) {
        links[ObjectIdentifier(link)] = nil
        statistics.withLock { $0.open = links.count }
    }

    func end() {
        dropAll()
        guard let listener else { return }
        backend.unwatch(listener)
        close(listener)
        self.listener = nil
    }
}
