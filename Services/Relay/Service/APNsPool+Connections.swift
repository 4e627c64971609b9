import Contracts
import HTTP2
import Loop
import PushBusCrypto
import RelayCore
import ServiceKit
import TLS

extension APNsPool {
    /// How often tokens, idle connections and the clock are looked at.
    private static let upkeepInterval = Duration.seconds(20)
    /// Bytes of the peer's window that one more message may need; with less left a message waits for
    /// another connection.
    private static let windowReserve = 6_000

    func openIfWanted(lane index: Int) {
        let now = now
        guard !isStopping, lanes[index].waiting > 0 else { return }
        if lanes[index].wantsConnection(at: now) {
            open(lane: index)
        } else if now < lanes[index].nextOpening {
            giveBackHopeless(lane: index)
            armOpening(lane: index, at: lanes[index].nextOpening)
        }
    }

    /// Opens a connection with the token that the policy names.
    func open(lane index: Int) {
        let now = now
        let token: TokenPolicy.Token
        switch policy.opening(at: now, wall: time.wall) {
        case .use(let current): token = current
        case .sign:
            guard let signed = sign(at: now) else {
                failWaiting(lane: index, .notConfigured)
                return
            }
            token = signed
        case .wait(let milliseconds):
            let wait = openBreaker(.provider, reason: "ExpiredProviderToken")
            failWaiting(
                lane: index,
                .held(
                    reason: "ExpiredProviderToken",
                    scope: .provider,
                    retryAfterMilliseconds: min(wait, milliseconds)
                )
            )
            return
        }
        var settings = HTTP2ClientConfiguration(
            host: configuration.origin.host,
            port: configuration.origin.port,
            tls: configuration.tls
        )
        settings.maximumStreams = configuration.maximumStreams
        settings.singleStreamUntilFirstSuccess = true
        settings.windowReserve = Self.windowReserve
        settings.commonHeaders = [
            HTTP2Field("authorization", "bearer \(compact)"),
            HTTP2Field("apns-topic", configuration.credentials.topic),
            HTTP2Field("apns-push-type", "alert"),
            HTTP2Field("apns-priority", "10"),
        ]
        settings.keptHeaders = ["retry-after"]
        settings.keptBodyBytes = ProviderAnswer.bodyLimit
        let entry = PoolConnection(
            serial: nextSerial,
            connection: HTTP2ClientConnection(settings, loop: loop, resolver: resolver),
            token: token,
            isAfterServerError: lanes[index].isAfterServerError,
            openedAt: now
        )
        nextSerial += 1
        lanes[index].isAfterServerError = false
        lanes[index].connections.append(entry)
        entry.connection.onChange = { [weak self] in self?.assumeIsolated { $0.lookSoon() } }
        entry.connection.onOutcomes = { [weak self] outcomes in
            self?.assumeIsolated { $0.handle(outcomes) }
        }
        entry.connection.startConnecting(timeout: configuration.connectTimeout)
        armUpkeep()
    }

    /// Signs a token, which becomes the shared one; nil when the key cannot be used.
    private func sign(at now: Int64) -> TokenPolicy.Token? {
        let issuedAt = time.wall.second
        let credentials = configuration.credentials
        do throws(CryptoError) {
            compact =
                try ProviderToken.sign(
                    key: credentials.key,
                    keyID: credentials.keyID,
                    teamID: credentials.teamID,
                    issuedAtSeconds: issuedAt.seconds
                ).compact
        } catch {
            metrics.alarm("RelayNotConfigured")
            log.error("provider token cannot be signed", ["error": .text(error)])
            return nil
        }
        metrics.count(.signed)
        let token = policy.signed(at: now, issuedAt: issuedAt)
        log.info("provider token signed", ["generation": .int(token.generation)])
        return token
    }

    private func failWaiting(lane index: Int, _ verdict: RelayVerdict) {
        for job in takeWaiting(lane: index) { finish(job, job.lastVerdict ?? verdict) }
    }

    private func armOpening(lane index: Int, at moment: Int64) {
        guard lanes[index].openingTimer == nil else { return }
        let wait = Duration.milliseconds(max(1, moment - now))
        lanes[index].openingTimer = loop.executor.schedule(after: wait) { [weak self] in
            self?.assumeIsolated { pool in
                pool.lanes[index].openingTimer = nil
                // The loop's own clock has waited: nobody has to believe another one.
                if pool.lanes[index].nextOpening <= moment { pool.lanes[index].nextOpening = .min }
                pool.dispatch()
            }
        }
    }

    // MARK: - Changes

    /// Looks at all connections once the calls that are under way have returned.
    func lookSoon() {
        guard !isLookScheduled else { return }
        isLookScheduled = true
        loop.executor.execute { [weak self] in self?.assumeIsolated { $0.look() } }
    }

    private func look() {
        isLookScheduled = false
        for index in lanes.indices {
            for entry in lanes[index].connections {
                switch entry.connection.state {
                case .idle, .connecting: break
                case .ready: becameReady(entry, lane: index)
                case .draining(let goAway): if let goAway { left(entry, goAway, lane: index) }
                case .closed(let closure): ended(entry, closure, lane: index)
                }
            }
            lanes[index].connections.removeAll { entry in
                if case .closed = entry.connection.state { true } else { false }
            }
        }
        metrics.connections.set(Int64(lanes.reduce(0) { $0 + $1.connections.count }))
        dispatch()
    }

    private func becameReady(_ entry: PoolConnection, lane index: Int) {
        guard !entry.wasAnnounced else { return }
        entry.wasAnnounced = true
        metrics.count(.connected)
        log.info(
            "apns connection ready",
            ["connection": .int(entry.serial), "token": .int(entry.token.generation)]
        )
        // Make before break: older connections that wait for this one end now.
        for other in lanes[index].connections
        where other.isReplaced && other.serial < entry.serial && !other.isRetired {
            retire(other, why: nil)
        }
    }

    // MARK: - Upkeep

    private func armUpkeep() {
        guard upkeepTimer == nil, !isStopping else { return }
        upkeepTimer = loop.executor.schedule(after: Self.upkeepInterval) { [weak self] in
            self?.assumeIsolated { pool in
                pool.upkeepTimer = nil
                pool.upkeep()
                if pool.lanes.contains(where: { !$0.connections.isEmpty }) { pool.armUpkeep() }
            }
        }
    }

    /// Replaces connections whose token grows old and reports steps of the wall clock.
    package func upkeep() {
        let now = now
        let wall = time.wall
        if let step = clock.observe(wall: wall, monotonicMilliseconds: now) {
            metrics.count(.clockStep)
            log.warning("the wall clock stepped", ["milliseconds": .int(step)])
        }
        for index in lanes.indices {
            for entry in lanes[index].connections
            where entry.isHopeful && !entry.isReplaced && policy.isDue(entry.token, at: now) {
                // A replacement with the same token would gain nothing.
                if case .use(let token) = policy.opening(at: now, wall: wall), token == entry.token
                {
                    continue
                }
                entry.isReplaced = true
                open(lane: index)
            }
        }
        dispatch()
    }
}
