import Bus
import Contracts

/// Registration over the bus.
struct BusRegistration: RegistrationPort {
    let client: BusClient

    func isConnected() async -> Bool { await client.connectedPeers() > 0 }

    func waitUntilConnected() async { _ = await client.waitUntilConnected() }

    func check(
        _ question: EligibilityCheck,
        timeout: Duration
    ) async throws -> EligibilityCheckAnswer {
        try await client.ask(question, timeout: timeout)
    }

    func clean(
        _ request: RegistrationCleanup,
        timeout: Duration
    ) async throws -> RegistrationCleanupAnswer {
        try await client.ask(request, timeout: timeout)
    }
}
