import Contracts
import Topology

/// How fast Registration answers the two questions of the path, asked over the bus by one client
/// with eight questions under way.
struct Questions {
    let world: BenchWorld

    private static let lanes = 8
    private static let time = Duration.seconds(3)

    /// Records answered in a second, by question.
    func measure() async throws -> [(String, Double)] {
        let watermark = try await world.ask(.registration, AudienceOpen()).watermark
        let first = try await page(after: nil, watermark)
        let checks = first.recipients.map {
            EligibilityCheck.Check(
                installationID: $0.installationID,
                binding: $0.binding,
                watermark: watermark,
                category: .alert
            )
        }
        let pages = try await rate { position in
            let page = try await self.page(after: position, watermark)
            return (page.recipients.count, page.more ? page.last : nil)
        }
        let answers = try await rate { _ in
            let answer = try await world.ask(.registration, EligibilityCheck(checks: checks))
            return (answer.verdicts.count, nil)
        }
        return [("audience.page", pages), ("eligibility.check", answers)]
    }

    private func page(after: InstallationID?, _ watermark: Int64) async throws -> AudiencePageAnswer
    {
        try await world.ask(
            .registration,
            AudiencePage(
                category: .alert,
                watermark: watermark,
                audience: .everyone,
                after: after,
                limit: BusLimits.records
            )
        )
    }

    /// Asks for a while; the question gives its number of records and where to go on.
    private func rate(
        _ ask: @escaping @Sendable (InstallationID?) async throws -> (Int, InstallationID?)
    ) async throws -> Double {
        let start = ContinuousClock.now
        let total = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<Self.lanes {
                group.addTask {
                    var records = 0
                    var position: InstallationID?
                    while ContinuousClock.now - start < Self.time {
                        let (count, next) = try await ask(position)
                        records += count
                        position = next
                    }
                    return records
                }
            }
            return try await group.reduce(0, +)
        }
        return Double(total) / ((ContinuousClock.now - start) / .seconds(1))
    }
}
