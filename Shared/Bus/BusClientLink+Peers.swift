import Contracts
import Loop
import ServiceKit
import ZeroMQ

/// Which peers there are and how their connections stand.
extension BusClientLink {
    /// How often an endpoint file is looked at.
    private static var refreshInterval: Duration { .seconds(1) }

    nonisolated func start() {
        runtime.loop.execute { self.assumeIsolated { $0.connectAll() } }
    }

    private func connectAll() {
        switch settings.source {
        case .fixed(let endpoints): follow(endpoints)
        case .file: refresh()
        }
    }

    /// Reads the endpoint file if it has changed; a bad line is reported and left out.
    private func refresh() {
        guard !isStopped, case .file(let path) = settings.source else { return }
        let found = FileStamp.of(path)
        if found != stamp {
            stamp = found
            if let read = FileStamp.read(path) {
                stamp = read.stamp
                follow(endpoints(in: read.text, path))
            } else {
                log.warning("bus endpoint file unreadable", ["path": .string(path)])
            }
        }
        runtime.loop.schedule(after: Self.refreshInterval) { [weak self] in
            self?.assumeIsolated { $0.refresh() }
        }
    }

    private func endpoints(in text: String, _ path: String) -> [BusEndpoint] {
        var endpoints: [BusEndpoint] = []
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            do throws(BusConfigurationError) {
                for endpoint in try BusEndpoint.list(String(line))
                where !endpoints.contains(endpoint) {
                    endpoints.append(endpoint)
                }
            } catch {
                log.error("bus endpoint fault", ["path": .string(path), "fault": .error(error)])
            }
        }
        return endpoints
    }

    /// Connects to what is new and takes leave of what is gone.
    private func follow(_ endpoints: [BusEndpoint]) {
        guard !isStopped else { return }
        for peer in peers where !endpoints.contains(peer.endpoint) { peer.isRetiring = true }
        for endpoint in endpoints {
            if let known = peers.first(where: { $0.endpoint == endpoint }) {
                known.isRetiring = false
            } else {
                connect(endpoint)
            }
        }
        closeRetired()
        dispatch()
    }

    private func connect(_ endpoint: BusEndpoint) {
        do {
            let curve = try settings.security.clientCurve(endpoint)
            made += 1
            let number = made
            let peer = try BusPeerSocket(
                endpoint,
                number: number,
                runtime: runtime,
                name: settings.name,
                options: options(endpoint, curve)
            )
            try peer.attach(
                to: runtime.backend,
                ready: { [weak self] in
                    self?.assumeIsolated { $0.ready(number) }
                },
                changed: { [weak self] event in
                    self?.assumeIsolated { $0.changed(number, event) }
                }
            )
            peers.append(peer)
        } catch {
            log.error(
                "bus endpoint unusable",
                ["endpoint": .string(endpoint.address), "error": .error(error)]
            )
        }
    }

    private func options(_ endpoint: BusEndpoint, _ curve: ZeroMQCurve?) -> ZeroMQSocketOptions {
        var options = ZeroMQSocketOptions.dealer(window: settings.window, curve: curve)
        if endpoint.isLocal {
            // Trying a socket file costs next to nothing, so a restarted neighbour is found soon.
            options.reconnectMilliseconds = 50
            options.reconnectMaximumMilliseconds = 500
        }
        return options
    }

    private func closeRetired() {
        for peer in peers where peer.isRetiring && peer.inFlight == 0 { close(peer) }
    }

    func close(_ peer: BusPeerSocket) {
        peer.close()
        peers.removeAll { $0 === peer }
        countConnected()
    }

    private func changed(_ number: Int, _ event: ZeroMQConnectionEvent) {
        guard let peer = peers.first(where: { $0.number == number }) else { return }
        let endpoint = LogValue.string(peer.endpoint.address)
        switch event {
        case .connected:
            peer.isConnected = true
            peer.complained = false
            log.info("bus peer connected", ["endpoint": endpoint])
            for watcher in watchers.values { watcher.resume(returning: true) }
            watchers = [:]
        case .disconnected:
            guard peer.isConnected else { return }
            peer.isConnected = false
            log.warning("bus peer lost", ["endpoint": endpoint])
            receive(peer)
            lose(peer)
        case .refusedByKey, .refusedByProtocol:
            guard !peer.complained else { return }
            peer.complained = true
            log.error(
                "bus peer refused the handshake",
                [
                    "endpoint": endpoint,
                    "reason": event == .refusedByKey
                        ? "our key is not on its allow-list, or its key is another"
                        : "it speaks no ZeroMQ or its socket type does not fit",
                ]
            )
        }
        countConnected()
    }

    func countConnected() { metrics.connected.set(Int64(connectedPeers())) }

    func connectedPeers() -> Int { peers.count { $0.isConnected && !$0.isRetiring } }

    func waitUntilConnected() async -> Bool {
        made += 1
        let id = made
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if connectedPeers() > 0 || isStopped || Task.isCancelled {
                    continuation.resume(returning: connectedPeers() > 0)
                } else {
                    watchers[id] = continuation
                }
            }
        } onCancel: {
            runtime.loop.execute {
                self.assumeIsolated {
                    $0.watchers.removeValue(forKey: id)?.resume(returning: false)
                }
            }
        }
    }
}
