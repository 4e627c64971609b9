import Contracts
import HTTP2
import Loop
import PushBusCrypto
import RelayCore
import ServiceKit
import TLS

/// Sends messages of one environment to APNs: one immutable host, one signer, a bounded queue and
/// a few HTTP/2 connections, all on the thread of one loop.
///
/// Every message gets exactly one verdict, at its deadline at the latest.
package actor APNsPool {
    package struct Configuration: Sendable {
        package var environment: APNsEnvironment
        package var origin: APNsOrigin
        package var tls: TLSContext
        package var credentials: APNsCredentials
        /// Connections for ordinary messages; one more serves young bindings.
        package var connections = 1
        /// Streams that one connection may have at once, whatever SETTINGS allow.
        package var maximumStreams = 1_000
        /// Messages that may wait for a stream.
        package var queueLimit = 4_096
        /// From acceptance to verdict.
        package var deadline = Duration.seconds(10)
        package var connectTimeout = Duration.seconds(5)
        /// How long an idle connection has to answer a PING before it is given up.
        package var pingTimeout = Duration.seconds(2)

        package init(
            environment: APNsEnvironment,
            origin: APNsOrigin,
            tls: TLSContext,
            credentials: APNsCredentials
        ) {
            self.environment = environment
            self.origin = origin
            self.tls = tls
            self.credentials = credentials
        }
    }

    /// After this long without use a connection is asked for a sign of life before it is used. Apple
    /// allows a PING after an hour for keeping a connection; ours end before, with their token, while
    /// middle boxes forget them after half an hour. So it is one PING for a message, never a habit.
    static let pingAfterMilliseconds: Int64 = 15 * 60_000
    /// Requests in a row without any answer that retire a connection.
    static let silentLimit = 3
    /// Messages of a batch that counts as small.
    private static let smallBatch = 64
    /// Provable non-deliveries of one message before it is given back.
    static let refusalLimit = 32

    let configuration: Configuration
    let loop: HTTP2Loop
    let resolver: NameResolver
    let time: any TimeSource
    let random: RandomSource
    let metrics: PoolMetrics
    let log: Log
    let backoff = Backoff(base: .seconds(1), cap: .seconds(60))

    /// Serial numbers of connections that are to be asked for a sign of life.
    let pings = BoundedChannel<Int>(capacity: 16)
    var lanes: [PoolLane]
    var inFlight: [UInt64: InFlight] = [:]
    var nextSerial = 1
    private var nextJob: UInt64 = 1
    private var verdicts = VerdictBatches()
    private var isDeliveryScheduled = false
    // Tokens and breakers.
    var policy = TokenPolicy()
    var compact = ""
    var clock = ClockWatch()
    var providerBreaker = Breaker()
    var topicBreaker = Breaker()
    var throttles = DeviceThrottles()
    /// Messages in a row that ended with a 5xx.
    var serverFailures = 0
    // Scheduling.
    var isLookScheduled = false
    var sweepTimer: LoopTimer?
    var upkeepTimer: LoopTimer?
    var isStopping = false
    var stopWaiters: [CheckedContinuation<Void, Never>] = []

    struct InFlight {
        var job: PushJob
        let entry: PoolConnection
        let startedAt: Int64
    }

    nonisolated package var unownedExecutor: UnownedSerialExecutor {
        loop.executor.asUnownedSerialExecutor()
    }

    package init(
        _ configuration: Configuration,
        loop: HTTP2Loop,
        resolver: NameResolver,
        time: any TimeSource = SystemTime(),
        random: RandomSource = .system,
        metrics: Metrics,
        log: Log
    ) {
        self.configuration = configuration
        self.loop = loop
        self.resolver = resolver
        self.time = time
        self.random = random
        self.metrics = PoolMetrics(metrics, environment: configuration.environment)
        self.log = log.with(["environment": .string(configuration.environment.rawValue)])
        lanes = [PoolLane(size: max(1, configuration.connections)), PoolLane(size: 1)]
    }

    /// Monotonic milliseconds.
    var now: Int64 { time.monotonic.nanoseconds / 1_000_000 }

    // MARK: - Intake

    /// Sends one message and waits for its verdict.
    package func send(_ push: Push) async -> RelayVerdict {
        await withCheckedContinuation { continuation in
            enqueue([push]) { verdicts in
                for (_, verdict) in verdicts { continuation.resume(returning: verdict) }
            }
        }
    }

    /// Takes messages in; the closure is called on the loop's thread with the verdicts that became
    /// known together and the places of their messages in the list, each message once.
    package func enqueue(
        _ pushes: [Push],
        completion: @escaping @Sendable ([(place: Int, verdict: RelayVerdict)]) -> Void
    ) {
        guard !pushes.isEmpty else { return }
        let now = now
        let batch = verdicts.open(pushes.count, completion)
        let deadline = now + configuration.deadline.clampedNanoseconds / 1_000_000
        let wall = time.wall
        for (index, push) in pushes.enumerated() {
            let life = push.expiresAt.start.milliseconds - wall.milliseconds
            let job = PushJob(
                id: nextJob,
                push: push,
                deadline: min(deadline, now.addingReportingOverflow(life).partialValue),
                batch: batch,
                place: index,
                isOfSmallBatch: pushes.count <= Self.smallBatch
            )
            nextJob += 1
            if let verdict = refusal(life: life, now: now) {
                finish(job, verdict)
            } else {
                lanes[lane(of: push)].queue.append(job)
            }
        }
        dispatch()
        deliver()
    }

    private func lane(of push: Push) -> Int { push.isYoung ? 1 : 0 }

    private func refusal(life: Int64, now: Int64) -> RelayVerdict? {
        if life <= 0 { return .expired }
        if isStopping { return .busy() }
        if let held = held(at: now) { return held }
        let waiting = lanes.reduce(0) { $0 + $1.waiting }
        return waiting >= configuration.queueLimit ? .busy() : nil
    }

    func held(at now: Int64) -> RelayVerdict? {
        if let held = providerBreaker.held(at: now) {
            return .held(
                reason: held.reason,
                scope: .provider,
                retryAfterMilliseconds: held.retryAfterMilliseconds
            )
        }
        if let held = topicBreaker.held(at: now) {
            return .held(
                reason: held.reason,
                scope: .topic,
                retryAfterMilliseconds: held.retryAfterMilliseconds
            )
        }
        return nil
    }

    // MARK: - Verdicts

    /// Ends a message; nothing else calls its completion.
    func finish(_ job: PushJob, _ verdict: RelayVerdict) {
        metrics.count(verdict)
        if verdict.exposure == .ambiguous { metrics.count(.ambiguous) }
        verdicts.add(verdict, to: job.batch, at: job.place)
        deliverSoon()
        if isStopping, inFlight.isEmpty { concludeStop() }
    }

    /// Delivers verdicts once the loop is done with what it is doing, so that those of one read go
    /// out together.
    private func deliverSoon() {
        guard !isDeliveryScheduled else { return }
        isDeliveryScheduled = true
        loop.executor.execute { self.assumeIsolated { $0.deliver() } }
    }

    private func deliver() {
        isDeliveryScheduled = false
        verdicts.deliver()
    }

    // MARK: - Stopping

    /// Takes nothing more, answers what waits, lets APNs answer what is under way, then closes.
    package func stop() async {
        refuseWaiting()
        if !inFlight.isEmpty {
            await withCheckedContinuation { stopWaiters.append($0) }
        }
        sweepTimer?.cancel()
        upkeepTimer?.cancel()
        for lane in lanes {
            lane.openingTimer?.cancel()
            for entry in lane.connections { entry.connection.close() }
        }
        for index in lanes.indices { lanes[index].connections = [] }
        metrics.connections.set(0)
    }

    /// Takes nothing more and answers what waits.
    func refuseWaiting() {
        isStopping = true
        for index in lanes.indices {
            for job in takeWaiting(lane: index) { finish(job, job.lastVerdict ?? .busy()) }
        }
    }

    /// Takes out every message that APNs is not answering.
    func takeWaiting(lane: Int) -> [PushJob] {
        var jobs = lanes[lane].held
        lanes[lane].held = []
        for entry in lanes[lane].connections {
            jobs += entry.own
            entry.own = []
        }
        while let job = lanes[lane].queue.popFirst() { jobs.append(job) }
        return jobs
    }

    private func concludeStop() {
        deliver()
        let waiters = stopWaiters
        stopWaiters = []
        for waiter in waiters { waiter.resume() }
    }
}
