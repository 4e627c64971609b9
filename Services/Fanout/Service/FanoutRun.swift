import Bus
import Contracts
import FanoutCore
import Loop
import ServiceKit

/// The services Fanout talks to.
struct FanoutPeers: Sendable {
    let registration: BusClient
    let eventIngest: BusClient
    let delivery: BusClient

    func stop() {
        for client in [registration, eventIngest, delivery] { client.stop() }
    }
}

/// Carries one event through its audience: does what ``FanoutCourse`` says, all of it in child
/// tasks of one group, so that nothing outlives the event.
struct FanoutRun: Sendable {
    let peers: FanoutPeers
    let limits: FanoutLimits
    let metrics: FanoutMetrics
    let time: any TimeSource
    let log: Log

    private enum Input: Sendable {
        case page(SealedPage)
        case unfetched(delay: Int64)
        case acknowledged(Int)
        case refused(Int, delay: Int64)
        case answered(FanoutProgressAnswer)
        case unanswered
        case stopping
        case expired
    }

    /// Returns when nothing more will come of the event here.
    func carry(_ event: EventAdmitted, until stop: StopSignal) async -> FanoutCourse.Ending {
        var course = FanoutCourse(event, pageSize: limits.pageSize, window: limits.window)
        return await withTaskGroup(of: Input.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                await stop.wait()
                return .stopping
            }
            group.addTask {
                let left = event.expiresAt.start.milliseconds - time.wall.milliseconds
                try? await time.sleep(for: .milliseconds(max(0, left)))
                return .expired
            }
            while true {
                for action in course.next(now: time.wall) {
                    switch action {
                    case .fetch(let page): group.addTask { await fetch(page, event) }
                    case .enqueue(let ticket, let batch):
                        group.addTask { await enqueue(ticket, batch) }
                    case .report(let progress): group.addTask { await report(progress) }
                    case .end(let ending): return ending
                    }
                }
                guard let input = await group.next() else { return .unanswered }
                apply(input, to: &course)
            }
        }
    }

    private func apply(_ input: Input, to course: inout FanoutCourse) {
        switch input {
        case .page(let page): course.received(page)
        case .unfetched(let delay): course.unfetched(delay: delay)
        case .acknowledged(let ticket): course.acknowledged(ticket)
        case .refused(let ticket, let delay): course.refused(ticket, delay: delay)
        case .answered(let answer): course.answered(answer)
        case .unanswered: course.unanswered()
        case .stopping: course.giveBack(after: 0)
        case .expired: break
        }
    }

    private func fetch(_ request: AudiencePage, _ event: EventAdmitted) async -> Input {
        do throws(BusFailure) {
            let page = try await peers.registration.ask(
                request,
                timeout: limits.pageTimeout,
                resendEvery: limits.resendEvery
            )
            do throws(ContractViolation) {
                try PageCheck.check(page, after: request.after)
            } catch {
                log.error("audience page unusable", ["fault": .text(error)])
                return .unfetched(delay: limits.faultDelay)
            }
            let sealed = await PageSealer.seal(page, for: event)
            metrics.pages.add()
            return .page(sealed)
        } catch {
            return .unfetched(delay: delay(after: error, of: AudiencePage.type))
        }
    }

    private func enqueue(_ ticket: Int, _ batch: DeliveryEnqueue) async -> Input {
        do throws(BusFailure) {
            let answer = try await peers.delivery.ask(
                batch,
                timeout: limits.enqueueTimeout,
                resendEvery: limits.resendEvery
            )
            // Only what Delivery says it holds may be reported as written.
            guard answer.accountsFor(batch.records.count) else {
                log.error(
                    "delivery accounts for another number of records",
                    ["records": .int(batch.records.count)]
                )
                return .refused(ticket, delay: limits.faultDelay)
            }
            metrics.written.add(UInt64(batch.records.count))
            metrics.unsealable.add(UInt64(batch.records.count { $0.failure != nil }))
            return .acknowledged(ticket)
        } catch {
            return .refused(ticket, delay: delay(after: error, of: DeliveryEnqueue.type))
        }
    }

    private func report(_ progress: FanoutProgress) async -> Input {
        do throws(BusFailure) {
            let answer = try await peers.eventIngest.ask(
                progress,
                timeout: limits.reportTimeout,
                resendEvery: limits.resendEvery
            )
            metrics.count(skipped: progress.skipped)
            return .answered(answer)
        } catch {
            _ = delay(after: error, of: FanoutProgress.type)
            return .unanswered
        }
    }

    /// How long EventIngest is asked to wait before it hands the event out again, in milliseconds.
    private func delay(after failure: BusFailure, of request: String) -> Int64 {
        switch failure {
        case .timeout:
            log.warning("peer silent", ["request": .string(request)])
            return limits.silenceDelay
        case .stopped: return 0
        case .rejected(let reject) where reject.code == .retryAfter:
            log.info("peer asks to wait", ["request": .string(request)])
            return min(max(reject.retryAfterMilliseconds ?? limits.silenceDelay, 100), 60_000)
        case .rejected(let reject):
            log.error(
                "peer refused",
                ["request": .string(request), "code": .string(reject.code.rawValue)]
            )
            return limits.faultDelay
        case .malformedAnswer(let reason):
            log.error(
                "peer answered what cannot be read",
                ["request": .string(request), "reason": .string(reason)]
            )
            return limits.faultDelay
        }
    }
}
