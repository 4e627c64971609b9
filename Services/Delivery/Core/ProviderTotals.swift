import Contracts

/// Running totals of provider verdicts since the process started, for Registration's mass-failure
/// guard.
package struct ProviderTotals: Hashable, Sendable {
    package private(set) var byEnvironment: [String: RegistrationCleanup.Totals] = [:]

    package init() {}

    /// Counts a verdict if the provider gave it.
    package mutating func count(
        _ verdict: RelayVerdicts.Verdict,
        in environment: APNsEnvironment
    ) {
        guard verdict.exposure == .answered else { return }
        var totals = byEnvironment[environment.rawValue] ?? RegistrationCleanup.Totals()
        totals.verdicts += 1
        switch verdict.cleanup {
        case .dead: totals.dead += 1
        case .suspect: totals.suspect += 1
        case .topic: totals.topic += 1
        case nil: break
        }
        byEnvironment[environment.rawValue] = totals
    }
}
