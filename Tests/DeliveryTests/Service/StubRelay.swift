import Bus
import Contracts
import ServiceKit
import TestKit

/// A Relay that keeps what it was sent and answers what the test wants.
final class StubRelay: Sendable {
    struct Reply: Sendable {
        var outcome: Outcome
        var reason: String
        var scope = VerdictScope.message
        var exposure = Exposure.answered
        var cleanup: CleanupKind?
        var retryAfter: Int64?
        var timestamp: UnixMilliseconds?
        /// What `POST /v1/send` answers in place of `reason`.
        var publicReason: String?
        var status = 200
        var isDeviceInvalid = false

        static let accepted = Reply(outcome: .accepted, reason: "Accepted")
    }

    struct State: Sendable {
        var batches: [Int] = []
        var messages: [RelaySend.Message] = []
    }

    let state = Observed(State())
    private let reply: Observed<@Sendable (RelaySend.Message) async -> Reply?>

    /// Verdicts of one message of the stream.
    private let chunk: Int

    init(
        chunk: Int = 1,
        _ reply: @escaping @Sendable (RelaySend.Message) async -> Reply? = { _ in .accepted }
    ) {
        self.chunk = chunk
        self.reply = Observed(reply)
    }

    /// Keeps a message and gives the reply to it.
    func take(_ message: RelaySend.Message) async -> Reply? {
        state.update {
            $0.batches.append(1)
            $0.messages.append(message)
        }
        return await reply.value(message)
    }

    func answer(_ reply: @escaping @Sendable (RelaySend.Message) async -> Reply?) {
        self.reply.update { $0 = reply }
    }

    func routes() -> BusRoutes {
        var routes = BusRoutes()
        routes.stream(RelaySend.self) { [state, reply, chunk] request, _, emit throws(Reject) in
            state.update {
                $0.batches.append(request.messages.count)
                $0.messages += request.messages
            }
            var verdicts: [RelayVerdicts.Verdict] = []
            for (index, message) in request.messages.enumerated() {
                // Nothing is said about a message without a reply.
                guard let reply = await reply.value(message) else { continue }
                let verdict = RelayVerdicts.Verdict(
                    index: index,
                    outcome: reply.outcome,
                    reason: reply.reason,
                    scope: reply.scope,
                    exposure: reply.exposure,
                    cleanup: reply.cleanup,
                    retryAfterMilliseconds: reply.retryAfter,
                    apnsTimestamp: reply.timestamp
                )
                verdicts.append(verdict)
                let isLast = index == request.messages.count - 1
                guard isLast || verdicts.count == chunk else { continue }
                _ = await emit(RelayVerdicts(verdicts: verdicts, last: isLast))
                verdicts = []
            }
        }
        return routes
    }
}
