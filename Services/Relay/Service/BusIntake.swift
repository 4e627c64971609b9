import Bus
import Contracts
import Loop
import RelayCore
import ServiceKit

/// `relay.send.v1`: the same checks as the public endpoint, credit per principal instead of the
/// source and target limits, and verdicts as they become known.
package final class BusIntake: Sendable {
    private let relay: Relay
    private let time: any TimeSource
    private let log: Log
    /// Messages that one principal may have under way.
    private let credit: Int
    /// Seconds that `expires_at` of a message may lie ahead.
    private let horizon: Int64
    private let underWay = Locked<[String: Int]>([:])
    private let boot: String?

    /// `boot` is the boot id of this host.
    package init(
        relay: Relay,
        credit: Int,
        horizon: Int64,
        boot: String? = HostBoot.identifier(),
        time: any TimeSource,
        log: Log
    ) {
        self.relay = relay
        self.credit = credit
        self.horizon = horizon
        self.boot = boot
        self.time = time
        self.log = log
    }

    /// Adds the handlers of this service.
    package func register(in routes: inout BusRoutes) {
        routes.stream(RelaySend.self) { (request, context, emit) throws(Reject) in
            await self.answer(request, from: context.peer.principal, emit)
        }
    }

    private typealias Entry = RelayVerdicts.Verdict

    private func answer(
        _ request: RelaySend,
        from principal: String,
        _ emit: BusRoutes.Emit<RelayVerdicts>
    ) async {
        let total = request.messages.count
        guard total > 0 else {
            _ = await emit(RelayVerdicts(verdicts: [], last: true))
            return
        }
        if isLate(request) {
            log.warning("messages lay unread for too long", ["messages": .int(total)])
            let busy = RelayVerdict.busy()
            let verdicts = (0..<total).map { busy.entry(at: $0) }
            _ = await emit(RelayVerdicts(verdicts: verdicts, last: true))
            return
        }
        // As many places as verdicts, so that nobody who brings some ever waits.
        let verdicts = BoundedChannel<[Entry]>(capacity: total)
        var held = take(total, for: principal)
        defer { giveBack(held, for: principal) }
        let checked = check(request.messages, credit: held, verdicts)
        let places = checked.map(\.place)
        let sent = Set(places)
        await relay.send(checked.map(\.message)) { known in
            _ = verdicts.trySend(known.map { $0.verdict.entry(at: places[$0.place]) })
        }
        var known = 0
        var isHeard = true
        while known < total {
            let batch = await verdicts.nextBatch(max: total).flatMap(\.self)
            if batch.isEmpty { return }
            known += batch.count
            // Before the verdicts go out, so that one slow message holds no credit but its own.
            let ended = batch.count { sent.contains($0.index) }
            giveBack(ended, for: principal)
            held -= ended
            // A peer that left still gets nothing wrong: it asks again, and APNs collapses.
            if isHeard {
                isHeard = await emit(RelayVerdicts(verdicts: batch, last: known == total))
            }
        }
    }

    /// Whether the sender's check of the messages is no longer valid, as far as the clocks are one.
    private func isLate(_ request: RelaySend) -> Bool {
        guard let sendBy = request.sendBy, sendBy.boot == boot else { return false }
        return time.monotonic.nanoseconds / 1_000_000 > sendBy.milliseconds
    }

    private func check(
        _ messages: [RelaySend.Message],
        credit: Int,
        _ verdicts: BoundedChannel<[Entry]>
    ) -> [(place: Int, message: RelaySend.Message)] {
        let now = time.wall.second
        var checked: [(place: Int, message: RelaySend.Message)] = []
        for (place, message) in messages.enumerated() {
            do throws(ContractViolation) {
                try SendRequest.check(message, now: now, horizon: horizon)
                if checked.count < credit {
                    checked.append((place, message))
                } else {
                    _ = verdicts.trySend([RelayVerdict.busy().entry(at: place)])
                }
            } catch {
                log.warning("message breaks the contract", ["rule": .text(error)])
                _ = verdicts.trySend([RelayVerdict.invalidRequest.entry(at: place)])
            }
        }
        return checked
    }

    private func take(_ wanted: Int, for principal: String) -> Int {
        underWay.withLock { underWay in
            let taken = min(wanted, max(0, credit - underWay[principal, default: 0]))
            underWay[principal, default: 0] += taken
            return taken
        }
    }

    private func giveBack(_ taken: Int, for principal: String) {
        underWay.withLock { underWay in
            underWay[principal, default: 0] -= taken
            if underWay[principal] == 0 { underWay[principal] = nil }
        }
    }
}

/// A bus server whose peers get their verdicts before it ends.
struct BusListener: Service {
    let name = "bus"
    let server: BusServer
    let relay: Relay
    let readiness: Readiness

    func run(until stop: StopSignal) async throws {
        let registration = stop.onTrigger { [relay] in relay.refuseWaiting() }
        defer { stop.remove(registration) }
        async let bound: Void = announce()
        try await server.run(until: stop)
        await bound
    }

    private func announce() async {
        if await server.bound() != nil { readiness.set(name, .ok) }
    }
}
