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

    func openIfWanted(lane index: Int) {
        let now = now
        guard !isStopping, lanes[index].waiting > 0 else { return }
        if lanes[index].wantsConnection(at: now) {
            open(lane: index)
        } else if now < lanes[index].nextOpening {
            armOpening(at: lanes[index].nextOpening)
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

    private func armOpening(at moment: Int64) {
        guard openingTimer == nil else { return }
        openingTimer = loop.executor.schedule(after: .milliseconds(max(1, moment - now))) {
            [weak self] in
            self?.assumeIsolated { pool in
                pool.openingTimer = nil
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

    /// The peer said GOAWAY: what it did not process comes back as refused by itself.
    private func left(_ entry: PoolConnection, _ goAway: HTTP2GoAway, lane index: Int) {
        guard !entry.wasReported else { return }
        entry.wasReported = true
        entry.isRetired = true
        giveBackOwn(of: entry, lane: index)
        metrics.count(.goAway)
        var reason = goAway.code.description
        if case .reason(let word, _) = ProviderAnswer.read(goAway.debugData) {
            reason = word
            let answer = ProviderAnswer(status: 400, body: .reason(word, timestamp: nil))
            switch ProviderRule.treatment(of: answer) {
            case .providerHeld: openBreaker(.provider, reason: word)
            case .topicHeld: openBreaker(.topic, reason: word)
            case .tokenUpdates: policy.tooManyUpdates(at: now)
            case .tokenExpired: _ = policy.expired(entry.token, at: now)
            case .accepted, .deviceDead, .deviceSuspect, .deviceOtherTopic, .deviceThrottled,
                .messageRefused, .connectionIdle, .serverFailed, .unintelligible:
                break
            }
        }
        log.warning(
            "apns is closing a connection",
            ["connection": .int(entry.serial), "reason": .string(reason)]
        )
        if !entry.hasSucceeded { noteFailure(lane: index) }
        if !isStopping, entry.hasSucceeded, lanes[index].connections.filter(\.isHopeful).isEmpty {
            open(lane: index)
        }
    }

    private func ended(_ entry: PoolConnection, _ closure: HTTP2Closure, lane index: Int) {
        giveBackOwn(of: entry, lane: index)
        // It may have closed before anybody looked at its GOAWAY.
        if let goAway = entry.connection.goAway { left(entry, goAway, lane: index) }
        if closure == .local || entry.wasReported || isStopping { return }
        entry.wasReported = true
        let hadConnected = entry.wasAnnounced
        metrics.count(hadConnected ? .lost : .connectFailed)
        log.warning(
            hadConnected ? "apns connection lost" : "apns cannot be reached",
            ["connection": .int(entry.serial), "reason": .text(closure)]
        )
        if case .transport(let error) = closure, error.code == .verification {
            openBreaker(.provider, reason: "CertificateNotTrusted")
        }
        if entry.hasSucceeded { return }
        noteFailure(lane: index)
        // Whoever cannot live to see the next opening is told at once when to come back.
        let wait = max(1, lanes[index].nextOpening - now)
        let next = lanes[index].nextOpening
        let hopeless =
            lanes[index].queue.removeAll { $0.deadline <= next }
            + lanes[index].held.filter { $0.deadline <= next }
        lanes[index].held.removeAll { $0.deadline <= next }
        for job in hopeless {
            finish(job, job.lastVerdict ?? .network(.none, retryAfterMilliseconds: wait))
        }
    }

    private func noteFailure(lane index: Int) {
        let attempt = lanes[index].failures
        lanes[index].failures += 1
        // At least half of the ceiling, so that a peer in trouble is left alone for a while.
        let ceiling = backoff.ceiling(attempt: attempt).clampedNanoseconds / 1_000_000
        let jitter = Int64(random.uniform(below: UInt64(ceiling / 2) + 1))
        lanes[index].nextOpening = now + ceiling / 2 + jitter
    }

    private func giveBackOwn(of entry: PoolConnection, lane index: Int) {
        lanes[index].held += entry.own
        entry.own = []
    }

    /// Takes a connection out of service; what is under way on it goes on.
    func retire(_ entry: PoolConnection, why: PoolMetrics.Event?) {
        guard !entry.isRetired else { return }
        entry.isRetired = true
        if let why { metrics.count(why) }
        for index in lanes.indices where lanes[index].connections.contains(where: { $0 === entry })
        {
            giveBackOwn(of: entry, lane: index)
        }
        entry.connection.drain()
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
