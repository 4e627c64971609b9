import Contracts
import DeliveryCore
import HTTPClient
import Loop
import ServiceKit

/// A relay elsewhere, over `POST /v1/send`.
///
/// One request carries one message, so a batch is as many requests, a bounded number of them at a
/// time. libcurl may send a request again when a connection it reuses was closed without a reply;
/// that is sound here, since a repeat carries the same event and token and so the same apns-id
/// (design §7.3). Neither a request nor such a repeat is written once the check of the message is no
/// longer valid, whatever libcurl waited for. A failure counts as provably unprocessed only when nothing was written, repeats
/// included. No trace context leaves (design §8).
package final class HTTPRelay: RelayPort {
    private let client: HTTPClient
    private let url: String
    private let time: any TimeSource
    private let log: Log
    /// One element for each request that may be under way.
    private let slots: BoundedChannel<Void>
    private let hold = Locked<Hold?>(nil)

    /// The relay asked everybody to wait.
    private struct Hold {
        var reason: String
        var until: MonotonicInstant
    }

    /// From the call to the last byte of a reply; 20 s unless set shorter (design §9).
    private let deadline: Duration
    private static let shortestHold: Duration = .milliseconds(250)

    /// `concurrent` requests at a time; `caFile` names the only authorities to trust, the system's
    /// when nil.
    package init(
        _ address: RelayAddress,
        caFile: String?,
        concurrent: Int,
        timeout: Duration,
        time: any TimeSource,
        log: Log
    ) throws(SystemCallError) {
        var configuration = HTTPClientConfiguration(
            caFile: caFile,
            maximumConnections: concurrent,
            maximumConnectionsPerHost: concurrent
        )
        configuration.offersHTTP2 = true
        client = try HTTPClient(configuration: configuration)
        url = address.sendURL
        deadline = timeout
        self.time = time
        self.log = log
        slots = BoundedChannel(capacity: concurrent)
        for _ in 0..<concurrent { _ = slots.trySend(()) }
    }

    /// There is no connection to wait for: a relay that is away shows in the verdicts.
    package func isConnected() async -> Bool { true }

    package func waitUntilConnected() async {}

    package func send(
        _ batch: RelaySend,
        handOver: Duration,
        timeout: Duration,
        onVerdicts: (RelayVerdicts) async -> Void
    ) async -> RelayEnd {
        let start = time.monotonic
        let handOverEnds = start + handOver
        let ends = start + timeout
        await withTaskGroup(of: RelayVerdicts.Verdict.self) { group in
            for (index, message) in batch.messages.enumerated() {
                group.addTask {
                    await self.verdict(message, at: index, handOverEnds, ends)
                }
            }
            for await verdict in group {
                await onVerdicts(RelayVerdicts(verdicts: [verdict], last: false))
            }
        }
        return .complete
    }

    package func abandon() async { client.stop() }

    /// Ends all requests and the thread.
    package func stop() { client.stop() }

    private func verdict(
        _ message: RelaySend.Message,
        at index: Int,
        _ handOverEnds: MonotonicInstant,
        _ ends: MonotonicInstant
    ) async -> RelayVerdicts.Verdict {
        guard await slots.next() != nil else { return Self.unsent(index, Reason.handedBack) }
        defer { _ = slots.trySend(()) }
        let now = time.monotonic
        guard now < handOverEnds else { return Self.unsent(index, Reason.handedBack) }
        if let hold = hold.withLock({ $0 }), now < hold.until {
            return Self.unsent(index, hold.reason, .relay, retryAfter: hold.until - now)
        }
        let verdict = await post(
            message,
            at: index,
            writeWithin: handOverEnds - now,
            timeout: min(deadline, ends - now)
        )
        note(verdict)
        return verdict
    }

    private func post(
        _ message: RelaySend.Message,
        at index: Int,
        writeWithin: Duration,
        timeout: Duration
    ) async -> RelayVerdicts.Verdict {
        let request = HTTPClientRequest(
            method: "POST",
            url: url,
            headers: [("Content-Type", "application/json"), ("Accept", "application/json")],
            body: RelayRequest.body(message),
            timeout: timeout,
            writeWithin: writeWithin,
            maximumReplyBytes: RelayReply.bodyLimit
        )
        do throws(HTTPClientError) {
            let response = try await client.send(request)
            let reply = RelayReply(
                status: response.status,
                headers: response.headers,
                body: response.body
            )
            if !reply.isWellFormed {
                log.warning(
                    "relay's reply breaks the contract",
                    ["status": .int(response.status), "bytes": .int(response.body.count)]
                )
            }
            return reply.verdict(at: index)
        } catch {
            log.warning("relay gave no reply", ["error": .text(error)])
            if error.code == .stopped, !error.mayHaveArrived {
                return Self.unsent(index, Reason.handedBack)
            }
            return RelayVerdicts.Verdict(
                index: index,
                outcome: .retryable,
                reason: error.mayHaveArrived ? Reason.relayNoVerdict : Reason.relayUnreachable,
                scope: .relay,
                exposure: error.mayHaveArrived ? .ambiguous : .none
            )
        }
    }

    /// Keeps what waits from being sent into a relay that has just asked to wait.
    private func note(_ verdict: RelayVerdicts.Verdict) {
        let isAsked = verdict.outcome == .retryable || verdict.reason == Reason.relayNotConfigured
        guard verdict.scope == .relay, isAsked else { return }
        let stated = Duration.milliseconds(verdict.retryAfterMilliseconds ?? 0)
        let until = time.monotonic + max(stated, Self.shortestHold)
        hold.withLock {
            if $0.map({ $0.until < until }) ?? true {
                $0 = Hold(reason: verdict.reason, until: until)
            }
        }
    }

    private static func unsent(
        _ index: Int,
        _ reason: String,
        _ scope: VerdictScope = .device,
        retryAfter: Duration? = nil
    ) -> RelayVerdicts.Verdict {
        RelayVerdicts.Verdict(
            index: index,
            outcome: .retryable,
            reason: reason,
            scope: scope,
            exposure: .none,
            retryAfterMilliseconds: retryAfter.map { Int64(($0 / .milliseconds(1)).rounded(.up)) }
        )
    }
}
