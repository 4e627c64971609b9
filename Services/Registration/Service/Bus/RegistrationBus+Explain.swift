import Contracts
import RegistrationCore
import ServiceKit

extension RegistrationBus {
    /// Says how an installation stands towards an event at this moment.
    func explain(_ question: InstallationExplain) async throws -> InstallationExplainAnswer {
        let page = AudiencePage(
            category: question.category,
            watermark: question.watermark,
            audience: Audience(installationID: question.installationID),
            after: nil,
            limit: 1
        )
        let found = try await store.audience(page, now: context.time.wall.second).rows.first
        guard let (installation, standing) = found else {
            return InstallationExplainAnswer(isKnown: false, isInAudience: false)
        }
        let audience = question.audience
        let isInAudience =
            (audience.userID ?? installation.userID) == installation.userID
            && (audience.installationID ?? installation.id) == installation.id
        return InstallationExplainAnswer(
            isKnown: true,
            isInAudience: isInAudience,
            obstacle: Eligibility.obstacle(
                installation,
                standing,
                category: question.category,
                watermark: question.watermark,
                binding: nil
            ),
            userID: installation.userID,
            role: standing.role,
            binding: installation.binding,
            since: installation.since[question.category]
        )
    }
}
