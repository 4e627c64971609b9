import Bus
import Contracts
import RegistrationCore
import ServiceKit

/// Who knows what the relay said last.
package protocol RelayReports: Sendable {
    /// When a relay said last that it has no credentials; nil when its last word was another.
    func notConfiguredAt() async throws -> UnixSeconds?
}

/// Asks Delivery.
package struct DeliveryReports: RelayReports {
    private let client: BusClient
    private let timeout: Duration

    package init(client: BusClient, timeout: Duration = .seconds(1)) {
        self.client = client
        self.timeout = timeout
    }

    package func notConfiguredAt() async throws -> UnixSeconds? {
        let status = try await client.ask(ServiceStatus(), timeout: timeout)
        let seconds = status.metrics[ServiceStatusAnswer.relayNotConfiguredMetric] ?? 0
        return seconds > 0 ? UnixSeconds(Int64(seconds)) : nil
    }
}

/// Whether the relay has credentials, as far as Delivery has learned by sending.
///
/// It is asked at most once in a while, and only what it says is believed: without an answer, or when
/// the relay's word is old, the relay counts as configured. So a relay that was set up meanwhile is
/// found out even when nobody could register because of it.
package actor RelayStanding {
    /// How long an answer, or none, is good for.
    static let freshness = Duration.seconds(10)
    /// How long the relay's word is believed, in seconds.
    static let memorySeconds: Int64 = 600

    private let reports: any RelayReports
    private let time: any TimeSource
    private var isKnownUnconfigured = false
    private var checkedAt: MonotonicInstant?
    private var isAsking = false

    package init(reports: any RelayReports, time: any TimeSource) {
        self.reports = reports
        self.time = time
    }

    /// One asks at a time; meanwhile the others get what was known before.
    package func isConfigured() async -> Bool {
        let isFresh = checkedAt.map { time.monotonic < $0 + Self.freshness } ?? false
        guard !isFresh, !isAsking else { return !isKnownUnconfigured }
        isAsking = true
        let told = try? await reports.notConfiguredAt()
        isAsking = false
        checkedAt = time.monotonic
        let age = told.map { time.wall.second.seconds - $0.seconds }
        isKnownUnconfigured = age.map { $0 < Self.memorySeconds } ?? false
        return !isKnownUnconfigured
    }
}
