import Bus
import Contracts
import DeliveryCore
import Loop
import ServiceKit
import Storage

/// Drains the outbox: claim, check, send, commit, in batches that run side by side.
package final class OutboxWorker: Service {
    package let name = "outbox worker"
    private let store: any DeliveryStore
    private let registration: any RegistrationPort
    private let relay: any RelayPort
    private let limits: WorkerLimits
    private let time: any TimeSource
    private let random: RandomSource
    private let metrics: DeliveryMetrics
    private let log: Log
    private let hashToken: @Sendable (DeviceToken) -> [UInt8]
    private let boot = HostBoot.identifier()
    private let bell = WakeSignal()
    private let cleanupBell = WakeSignal()
    private let outcomes: OutcomeWriter
    let desk: OutboxDesk

    package init(
        store: any DeliveryStore,
        registration: any RegistrationPort,
        relay: any RelayPort,
        limits: WorkerLimits = WorkerLimits(),
        context: ProcessContext,
        hashToken: @escaping @Sendable (DeviceToken) -> [UInt8]
    ) {
        self.store = store
        self.registration = registration
        self.relay = relay
        self.limits = limits
        self.time = context.time
        self.random = context.random
        self.log = context.log
        self.hashToken = hashToken
        metrics = DeliveryMetrics(context.metrics)
        desk = OutboxDesk(
            limits: limits,
            time: time,
            random: random,
            bell: bell,
            paused: metrics.paused,
            relayNotConfigured: metrics.relayNotConfigured,
            log: log
        )
        outcomes = OutcomeWriter(
            store: store,
            desk: desk,
            cleanupBell: cleanupBell,
            time: time,
            metrics: metrics,
            readiness: context.readiness,
            log: log
        )
    }

    /// Works until asked to stop, then waits a while for verdicts, hands back the rest and commits all.
    package func run(until stop: StopSignal) async throws {
        let ringing = stop.onTrigger { [bell] in bell.signal() }
        defer { stop.remove(ringing) }
        try await withThrowingTaskGroup { group in
            group.addTask { try await self.outcomes.run() }
            group.addTask { try await self.sendUntilStopped(stop) }
            group.addTask { await self.cleanups.run() }
            group.addTask { await self.sweeper.run() }
            // Outcome writer and sender end by themselves when asked to stop; the first failure of the
            // writer ends the service.
            for _ in 0..<2 { try await group.next() }
            group.cancelAll()
        }
    }

    private func sendUntilStopped(_ stop: StopSignal) async throws {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await self.sendRounds(stop)
                return true
            }
            group.addTask {
                await stop.wait()
                let isOver = (try? await self.time.sleep(for: self.limits.stopGrace)) != nil
                if isOver { await self.relay.abandon() }
                return false
            }
            // After the grace the rounds end by themselves, and what they learned is still committed.
            while let areRoundsOver = try await group.next(), !areRoundsOver {}
            group.cancelAll()
        }
        outcomes.finish()
    }

    /// Throws only when the store cannot be used any more.
    private func sendRounds(_ stop: StopSignal) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            var schedule = ClaimSchedule(now: time.monotonic)
            while !stop.isTriggered {
                switch try await next(&schedule, stop) {
                case .rows(let rows):
                    await desk.beginRound()
                    group.addTask {
                        await self.round.run(rows)
                        await self.desk.endRound()
                    }
                case .alone(let row):
                    await round.run([row])
                case .wait(let duration):
                    if !stop.isTriggered { await bell.wait(atMost: duration, time: time) }
                case .waitForPeers:
                    await waitForPeers(stop)
                }
            }
            await desk.setOpen(false)
            let unsent = await desk.takeAllReady()
            await outcomes.write(unsent.map { $0.handedBack(Reason.handedBack) })
        }
    }

    private enum Step {
        case rows([HeldRow])
        case alone(HeldRow)
        case wait(Duration)
        case waitForPeers
    }

    /// When to look at the store again.
    private struct ClaimSchedule {
        var next: MonotonicInstant
        /// Whether the latest claim saw a row that must be alone.
        var hasLoneRow = false

        init(now: MonotonicInstant) { next = now }
    }

    private func next(_ schedule: inout ClaimSchedule, _ stop: StopSignal) async throws -> Step {
        guard await registration.isConnected(), await relay.isConnected() else {
            await closeDesk(Reason.relayUnreachable)
            return .waitForPeers
        }
        if let hold = await desk.relayHold {
            await closeDesk(Reason.paused)
            return .wait(min(hold, limits.pollInterval))
        }
        if await desk.isStoreFailing { return .wait(limits.pollInterval) }
        if schedule.hasLoneRow { return try await claimAlone(&schedule) }
        await desk.setOpen(true)
        guard await desk.hasFreeRound else { return .wait(limits.pollInterval) }
        let ready = await desk.takeReady()
        if !ready.isEmpty { return .rows(ready) }
        return try await claim(&schedule)
    }

    /// Hands back what is not under way, so that no lease runs while nothing is sent.
    private func closeDesk(_ reason: String) async {
        await desk.setOpen(false)
        let unsent = await desk.takeAllReady()
        await outcomes.write(unsent.map { $0.handedBack(reason) })
    }

    private func claim(_ schedule: inout ClaimSchedule) async throws -> Step {
        let room = await desk.claimRoom
        guard room > 0 else { return .wait(limits.pollInterval) }
        let asked = time.monotonic
        let isWanted = await desk.takeClaimWanted()
        guard isWanted || asked >= schedule.next else {
            return .wait(schedule.next - asked)
        }
        do {
            let result = try await store.claim(limit: room, lease: limits.lease)
            metrics.claimed.add(UInt64(result.rows.count))
            await desk.noteBacklog(result.hasMore)
            let pause = min(
                limits.pollInterval,
                result.nextDueMilliseconds.map { .milliseconds($0) } ?? limits.pollInterval
            )
            schedule.next = result.hasMore ? asked : asked + pause
            schedule.hasLoneRow = result.hasLoneRow
            let rows = await desk.admit(result.rows, asked: asked)
            metrics.inHand.set(Int64(await desk.inHandCount))
            return rows.isEmpty ? .wait(schedule.next - asked) : .rows(rows)
        } catch {
            return try claimFailed(error)
        }
    }

    /// Waits until nothing else is in hand, then claims one row under suspicion.
    private func claimAlone(_ schedule: inout ClaimSchedule) async throws -> Step {
        await closeDesk(Reason.handedBack)
        guard await desk.inHandCount == 0 else { return .wait(limits.pollInterval) }
        schedule.hasLoneRow = false
        let asked = time.monotonic
        schedule.next = asked
        do {
            guard let row = try await store.claimAlone(lease: limits.lease) else {
                return .wait(.zero)
            }
            metrics.claimed.add()
            guard let held = await desk.admit([row], asked: asked).first else {
                return .wait(.zero)
            }
            return .alone(held)
        } catch {
            return try claimFailed(error)
        }
    }

    private func claimFailed(_ error: any Error) throws -> Step {
        metrics.storeFailures.add()
        log.error("claim failed", ["error": .error(error)])
        if let error = error as? StorageError, error.isFatal { throw error }
        return .wait(limits.pollInterval)
    }

    private func waitForPeers(_ stop: StopSignal) async {
        await withTaskGroup { group in
            group.addTask {
                await self.registration.waitUntilConnected()
                await self.relay.waitUntilConnected()
            }
            group.addTask { await stop.wait() }
            await group.next()
            group.cancelAll()
        }
    }

    private var round: SendRound {
        SendRound(
            desk: desk,
            registration: registration,
            relay: relay,
            outcomes: outcomes,
            limits: limits,
            time: time,
            random: random,
            metrics: metrics,
            log: log,
            hashToken: hashToken,
            boot: boot
        )
    }

    /// What this process answers on the bus.
    package func routes(_ context: ProcessContext) -> BusRoutes {
        DeliveryRoutes(
            store: store,
            desk: desk,
            limits: limits,
            time: time,
            metrics: metrics,
            log: log
        ).routes(context)
    }

    private var cleanups: CleanupSender {
        CleanupSender(
            store: store,
            desk: desk,
            registration: registration,
            processID: random.bytes(16).map { String($0, radix: 16) }.joined(),
            bell: cleanupBell,
            limits: limits,
            time: time,
            random: random,
            metrics: metrics,
            log: log
        )
    }

    private var sweeper: Sweeper {
        Sweeper(store: store, limits: limits, time: time, metrics: metrics, log: log)
    }
}
