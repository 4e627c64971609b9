import Bus
import Contracts
import EventIngestCore

/// Hands events to Fanouts over the bus, each to one that has an open window.
package struct FanoutClient: FanoutPort {
    private let client: BusClient

    package init(_ client: BusClient) { self.client = client }

    /// Waits for a Fanout no longer than the event stays handed out, and never sends twice: after a
    /// silence the store decides when its turn comes again.
    package func hand(_ order: HandoffOrder) async -> HandoffResult {
        do throws(BusFailure) {
            _ = try await client.ask(
                order.event,
                timeout: .milliseconds(Handoff.silenceMilliseconds),
                traceparent: order.traceparent
            )
            return .taken
        } catch {
            switch error {
            case .timeout: return .silent
            case .stopped: return .stopped
            case .rejected(let reject) where reject.code == .retryAfter:
                return .busy(delayMilliseconds: reject.retryAfterMilliseconds ?? 1000)
            case .rejected(let reject): return .refused(reject.message)
            case .malformedAnswer(let message): return .refused(message)
            }
        }
    }
}
