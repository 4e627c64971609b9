/// `registration.admin.explain.v1`: would an installation receive an event now, and if not, why?
package struct InstallationExplain: BusRequest, Hashable {
    package typealias Answer = InstallationExplainAnswer
    package static let type = "registration.admin.explain.v1"

    package var installationID: InstallationID
    package var category: Category
    package var watermark: Int64
    package var audience: Audience

    package init(
        installationID: InstallationID,
        category: Category,
        watermark: Int64,
        audience: Audience = .everyone
    ) {
        self.installationID = installationID
        self.category = category
        self.watermark = watermark
        self.audience = audience
    }

    enum CodingKeys: String, CodingKey {
        case installationID = "installation_id"
        case category
        case watermark
        case audience
    }
}

/// How the installation stands at this moment. It holds no token and no key.
package struct InstallationExplainAnswer: BusMessage, Hashable {
    package static let type = "registration.admin.explain.answer.v1"

    package var isKnown: Bool
    /// Whether the event is for its owner and for it, whoever may receive.
    package var isInAudience: Bool
    /// Why it may not receive; nil when it may.
    package var obstacle: IneligibleReason?
    package var userID: UserID?
    package var role: Role?
    /// The number of its present identity; one above the watermark came after the event.
    package var binding: Int64?
    /// The number at which the category was switched on or its role gained, where there is one.
    package var since: Int64?

    package init(
        isKnown: Bool,
        isInAudience: Bool,
        obstacle: IneligibleReason? = nil,
        userID: UserID? = nil,
        role: Role? = nil,
        binding: Int64? = nil,
        since: Int64? = nil
    ) {
        self.isKnown = isKnown
        self.isInAudience = isInAudience
        self.obstacle = obstacle
        self.userID = userID
        self.role = role
        self.binding = binding
        self.since = since
    }

    enum CodingKeys: String, CodingKey {
        case isKnown = "known"
        case isInAudience = "in_audience"
        case obstacle
        case userID = "user_id"
        case role
        case binding
        case since
    }
}
