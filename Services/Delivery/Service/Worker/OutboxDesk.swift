import Contracts
import DeliveryCore
import ServiceKit

/// What the parts of a worker share: rows in hand, room for more, pauses and totals.
///
/// A row that is in hand stays so until its outcome has been committed, so that no row of this process
/// has two sends outstanding, whatever the store's leases say.
actor OutboxDesk {
    private let limits: WorkerLimits
    private let time: any TimeSource
    private let random: RandomSource
    private let bell: WakeSignal
    private let pausedGauge: Gauge
    private let relayNotConfiguredGauge: Gauge
    private let log: Log
    private var inHand: Set<Int64> = []
    private var reserved = 0
    private var ready: [HeldRow] = []
    /// Rows of small batches, which go first and by themselves.
    private var smallReady: [HeldRow] = []
    private var pauses = ScopePauses()
    private(set) var totals = ProviderTotals()
    /// Whether rows may be taken in hand: peers are there, the store commits, nothing must be alone.
    private var isOpen = false
    /// Whether the store has due rows that nobody holds; new rows then wait their turn.
    private var hasBacklog = false
    private(set) var isStoreFailing = false
    private var rounds = 0
    /// Whether rows may have become due since the latest claim.
    private var isClaimWanted = true
    private var checkFailures: Int64 = 0
    /// Batches that are not inserted yet because there is no room for them in hand.
    private var waiting: [WaitingBatch] = []

    private struct WaitingBatch {
        let records: Int
        let since: MonotonicInstant
        let continuation: CheckedContinuation<Int, Never>
    }

    /// Batches that may wait; fewer than the requests that the bus reads at once.
    private static let waitingLimit = 16
    /// Records of a batch that is served at once even while others wait.
    private static let smallBatch = 8
    /// Rows of small batches that may be in hand beyond the window.
    private static let smallRoom = 64

    init(
        limits: WorkerLimits,
        time: any TimeSource,
        random: RandomSource,
        bell: WakeSignal,
        paused: Gauge,
        relayNotConfigured: Gauge,
        log: Log
    ) {
        pausedGauge = paused
        relayNotConfiguredGauge = relayNotConfigured
        self.log = log
        self.limits = limits
        self.time = time
        self.random = random
        self.bell = bell
    }

    var inHandCount: Int { inHand.count }
    var pausedScopes: [PauseScope: String] { pauses.paused }

    /// How many more rows may be taken in hand; few while the relay is probed or recovers.
    var room: Int { room(in: limits.window) }

    private func room(in window: Int) -> Int {
        guard case .send(let most) = pauses.state(of: .relay, now: milliseconds) else { return 0 }
        return max(0, min(window, most) - inHand.count - reserved)
    }

    /// How many rows to claim now: a trickle of room is left to grow, since small batches cost more.
    var claimRoom: Int {
        let room = room
        return room < limits.batch && inHand.count > limits.window / 2 ? 0 : min(room, limits.batch)
    }

    /// Opens or closes the desk for rows that are leased as they are inserted.
    func setOpen(_ open: Bool) {
        isOpen = open
        serveWaiting()
    }

    func noteBacklog(_ backlog: Bool) {
        hasBacklog = backlog
        serveWaiting()
    }

    func setStoreFailing() {
        isStoreFailing = true
        serveWaiting()
    }

    /// Whether a claim may find something, asked once per claim.
    func takeClaimWanted() -> Bool {
        defer { isClaimWanted = false }
        return isClaimWanted
    }

    /// Whether another batch may be started.
    var hasFreeRound: Bool { rounds < limits.rounds }

    func beginRound() { rounds += 1 }

    func endRound() {
        rounds -= 1
        bell.signal()
    }

    /// Rows have become due by something else than time or an outcome.
    func noteDue() {
        isClaimWanted = true
        bell.signal()
    }

    // MARK: - Intake

    /// How many of the rows that are about to be inserted may be leased at once.
    ///
    /// A large batch waits a moment for room while sending goes on: rows that are leased as they are
    /// inserted need no claim later, and whoever hands over is held to the pace of sending. A small
    /// one never waits, so that a large audience does not delay it.
    func reserve(_ records: Int) async -> Int {
        guard
            mayWait, records > Self.smallBatch, records <= limits.window,
            waiting.count < Self.waitingLimit, !waiting.isEmpty || !hasRoom(for: records)
        else { return grant(records) }
        return await withCheckedContinuation { continuation in
            waiting.append(
                WaitingBatch(
                    records: records,
                    since: time.monotonic,
                    continuation: continuation
                )
            )
        }
    }

    /// Only while rows end one after another does waiting lead anywhere.
    private var mayWait: Bool { isOpen && !isStoreFailing && (hasBacklog || !inHand.isEmpty) }

    private func hasRoom(for records: Int) -> Bool { !hasBacklog && room >= records }

    private func grant(_ records: Int) -> Int {
        let isSmall = records <= Self.smallBatch
        guard isOpen, !isStoreFailing, !hasBacklog || isSmall else { return 0 }
        let room = isSmall ? room(in: limits.window + Self.smallRoom) : room
        let granted = min(records, room)
        reserved += granted
        return granted
    }

    /// Lets batches go on in their order: those that have room now, and those that waited too long.
    private func serveWaiting() {
        while let first = waiting.first {
            let isLate = time.monotonic - first.since >= limits.insertionWait
            guard isLate || !mayWait || hasRoom(for: first.records) else { return }
            waiting.removeFirst()
            first.continuation.resume(returning: grant(first.records))
        }
    }

    /// Takes rows that were leased under a reservation, which ends; `left` were inserted unleased.
    func deliver(
        _ rows: [ClaimedRow],
        left: Int,
        reserved count: Int,
        asked: MonotonicInstant
    ) {
        reserved -= count
        defer { serveWaiting() }
        let held = admit(rows, asked: asked)
        if held.count <= Self.smallBatch { smallReady += held } else { ready += held }
        if left > 0 { isClaimWanted = true }
        if left > 0 || !rows.isEmpty { bell.signal() }
    }

    /// Takes claimed rows in hand and leaves out those whose former send is still outstanding.
    func admit(_ rows: [ClaimedRow], asked: MonotonicInstant) -> [HeldRow] {
        rows.compactMap { row in
            guard inHand.insert(row.lease.rowID).inserted else { return nil }
            return HeldRow(row, asked: asked, lease: limits.lease)
        }
    }

    /// Up to a batch of the rows that were leased as they were inserted.
    func takeReady() -> [HeldRow] {
        if !smallReady.isEmpty {
            let batch = Array(smallReady.prefix(Self.smallRoom))
            smallReady.removeFirst(batch.count)
            return batch
        }
        let batch = Array(ready.prefix(limits.batch))
        ready.removeFirst(batch.count)
        return batch
    }

    /// Everything that waits to be sent, for handing it back.
    func takeAllReady() -> [HeldRow] {
        defer {
            ready = []
            smallReady = []
        }
        return smallReady + ready
    }

    /// The outcomes of these rows have been committed; some may be due again soon.
    func putDown(_ rows: [Int64], someWait: Bool) {
        isStoreFailing = false
        if someWait { isClaimWanted = true }
        for row in rows { inHand.remove(row) }
        serveWaiting()
        bell.signal()
    }

    // MARK: - Pauses

    /// How long nothing at all may be sent, nil when something may.
    var relayHold: Duration? {
        if case .hold(let wait) = pauses.state(of: .relay, now: milliseconds) {
            return .milliseconds(wait)
        }
        return nil
    }

    /// How many of these messages may go to one environment now.
    func admission(_ count: Int, _ environment: APNsEnvironment) -> Admission {
        pauses.admit(
            count,
            for: [.relay, .provider(environment), .topic(environment)],
            now: milliseconds
        )
    }

    /// Of the environments that were admitted, only these were sent to: what would have been a probe
    /// of the others is none.
    func noteUnused(of admitted: Set<APNsEnvironment>, sent: Set<APNsEnvironment>) {
        for environment in admitted.subtracting(sent) {
            pauses.withdraw(.provider(environment))
            pauses.withdraw(.topic(environment))
        }
        if sent.isEmpty && !admitted.isEmpty { pauses.withdraw(.relay) }
    }

    /// Decides about verdicts and learns from them.
    func decide(
        _ verdicts: [(verdict: RelayVerdicts.Verdict, row: HeldRow, environment: APNsEnvironment)],
        resends: Int
    ) -> [VerdictDecision] {
        let now = time.monotonic
        var working: Set<PauseScope> = []
        // Most verdicts show the same as the one before.
        var shown: [PauseScope] = []
        var failing: [(PauseScope, RelayVerdicts.Verdict)] = []
        let decisions = verdicts.map { verdict, row, environment in
            totals.count(verdict, in: environment)
            let decision = VerdictRule(
                verdict: verdict,
                environment: environment,
                attempts: row.row.attempts,
                resends: resends,
                hasExpired: now >= row.lifeEnds,
                // Randomness is for delays, and an acceptance has none.
                unit: verdict.outcome == .accepted ? 0 : random.unit()
            ).decide()
            if decision.working != shown {
                shown = decision.working
                working.formUnion(shown)
            }
            if let scope = decision.failing { failing.append((scope, verdict)) }
            return decision
        }
        for scope in working { succeed(scope) }
        for (scope, verdict) in failing {
            fail(
                scope,
                verdict.reason,
                verdict.retryAfterMilliseconds,
                isCertain: verdict.exposure == .none || scope == .relay
            )
        }
        return decisions
    }

    /// The relay as a whole failed.
    func relayFailed(_ reason: String, retryAfterMilliseconds: Int64?) {
        fail(.relay, reason, retryAfterMilliseconds, isCertain: true)
    }

    private func succeed(_ scope: PauseScope) {
        if pauses.paused[scope] != nil { log.info("resumed", ["scope": .string("\(scope)")]) }
        pauses.succeeded(scope)
        if scope == .relay { relayNotConfiguredGauge.set(0) }
        pausedGauge.set(Int64(pauses.paused.count))
    }

    private func fail(
        _ scope: PauseScope,
        _ reason: String,
        _ stated: Int64?,
        isCertain: Bool
    ) {
        if scope == .relay, reason == Reason.relayNotConfigured {
            relayNotConfiguredGauge.set(time.wall.second.seconds)
        }
        let wasPaused = pauses.paused[scope] != nil
        pauses.failed(
            scope,
            reason: reason,
            statedMilliseconds: stated,
            isCertain: isCertain,
            now: milliseconds,
            unit: random.unit()
        )
        if !wasPaused && pauses.paused[scope] != nil {
            log.warning("paused", ["scope": .string("\(scope)"), "reason": .string(reason)])
        }
        pausedGauge.set(Int64(pauses.paused.count))
    }

    /// The wait after Registration has not answered, longer each time in a row.
    func checkFailed() -> Duration {
        checkFailures += 1
        let delay = RetryDelay(baseMilliseconds: 500, capMilliseconds: 5000)
        return .milliseconds(delay.milliseconds(failures: checkFailures, unit: random.unit()))
    }

    func checkSucceeded() { checkFailures = 0 }

    /// A wait with jitter, for rows that failed without any verdict.
    func ordinaryDelay(after attempts: Int64) -> Duration {
        .milliseconds(
            RetryDelay.ordinary.milliseconds(failures: attempts + 1, unit: random.unit())
        )
    }

    private var milliseconds: Int64 { time.monotonic.nanoseconds / 1_000_000 }
}
