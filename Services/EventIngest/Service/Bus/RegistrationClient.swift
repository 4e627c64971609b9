import Bus
import Contracts

/// Asks Registration over the bus.
package struct RegistrationClient: WatermarkSource {
    private let client: BusClient

    package init(_ client: BusClient) { self.client = client }

    package func watermark(within limit: Duration) async throws -> Int64 {
        try await client.ask(
            AudienceOpen(),
            timeout: limit,
            resendEvery: .seconds(3)
        ).watermark
    }
}
