import Bus
import Contracts
import ServiceKit

/// One or more relays over the bus.
struct BusRelay: RelayPort {
    let client: BusClient
    let log: Log

    func isConnected() async -> Bool { await client.connectedPeers() > 0 }

    func waitUntilConnected() async { _ = await client.waitUntilConnected() }

    func send(
        _ batch: RelaySend,
        handOver: Duration,
        timeout: Duration,
        onVerdicts: (RelayVerdicts) async -> Void
    ) async -> RelayEnd {
        do throws(BusFailure) {
            try await client.stream(batch, timeout: timeout, sendWithin: handOver) { verdicts in
                await onVerdicts(verdicts)
                return !verdicts.last
            }
            return .complete
        } catch {
            log.warning("relay batch ended early", ["error": .error(error)])
            switch error {
            case .rejected(let reject):
                return .refused(
                    reason: reject.code.rawValue,
                    retryAfterMilliseconds: reject.retryAfterMilliseconds
                )
            case .timeout, .stopped, .malformedAnswer:
                return .broken
            }
        }
    }

    func abandon() async { client.stop() }
}
