import Contracts

/// May an installation receive a message of a category under a watermark?
package enum Eligibility {
    /// What else decides besides the installation itself.
    package struct Standing: Hashable, Sendable {
        /// The owner's current role; nil when the account is gone.
        package let role: Role?
        /// Whether the session that registered it is alive.
        package let sessionIsAlive: Bool

        package init(role: Role?, sessionIsAlive: Bool) {
            self.role = role
            self.sessionIsAlive = sessionIsAlive
        }
    }

    /// How long a binding counts as young, in milliseconds.
    package static let youthMilliseconds: Int64 = 86_400_000

    /// Nil when it may receive. `binding` is the one a queued message was made for; nil asks for the
    /// audience of a new one.
    package static func obstacle(
        _ installation: Installation,
        _ standing: Standing,
        category: Category,
        watermark: Int64,
        binding: Int64?
    ) -> IneligibleReason? {
        guard let registration = installation.registration else {
            return binding.map { $0 == installation.binding } ?? true ? .notRegistered : .replaced
        }
        if let binding, binding != installation.binding { return .replaced }
        if installation.binding > watermark { return .subscribedLater }
        guard let role = standing.role, standing.sessionIsAlive else { return .sessionEnded }
        if registration.doubt != nil { return .suspect }
        if !role.permits(category) { return .role }
        if !installation.preferences.wants(category) { return .unsubscribed }
        if installation.since[category] ?? 0 > watermark { return .subscribedLater }
        return nil
    }

    /// The answer to a check of a queued message.
    package static func verdict(
        _ check: EligibilityCheck.Check,
        _ installation: Installation?,
        _ standing: Standing,
        now: UnixMilliseconds
    ) -> EligibilityCheckAnswer.Verdict {
        guard let installation else { return .ineligible(.notRegistered) }
        let obstacle = obstacle(
            installation,
            standing,
            category: check.category,
            watermark: check.watermark,
            binding: check.binding
        )
        if let obstacle { return .ineligible(obstacle) }
        guard let registration = installation.registration else {
            return .ineligible(.notRegistered)
        }
        let age = now.milliseconds - installation.boundAt.milliseconds
        return .eligible(
            EligibilityCheckAnswer.Target(
                deviceToken: registration.token,
                environment: registration.environment,
                confirmedAt: registration.confirmedAt,
                isYoung: age < youthMilliseconds
            )
        )
    }
}
