/// `event.admitted.v1`: EventIngest hands one event to one Fanout. The ack says that the Fanout took
/// it into memory; only ``FanoutProgress`` carries a promise.
package struct EventAdmitted: BusRequest, Hashable {
    package typealias Answer = Ack
    package static let type = "event.admitted.v1"

    package var eventID: EventID
    package var createdAt: UnixSeconds
    package var expiresAt: UnixSeconds
    /// Registration's counter when the event was committed: later registrations are no recipients.
    package var watermark: Int64
    /// The last installation whose row is committed, nil before the first page.
    package var cursor: InstallationID?
    package var audience: Audience
    package var content: NotificationContent

    package init(
        eventID: EventID,
        createdAt: UnixSeconds,
        expiresAt: UnixSeconds,
        watermark: Int64,
        cursor: InstallationID?,
        audience: Audience,
        content: NotificationContent
    ) {
        self.eventID = eventID
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.watermark = watermark
        self.cursor = cursor
        self.audience = audience
        self.content = content
    }

    enum CodingKeys: String, CodingKey {
        case eventID = "event_id"
        case createdAt = "created_at"
        case expiresAt = "expires_at"
        case watermark
        case cursor
        case audience
        case content
    }
}

/// Among whom an event looks for recipients; category, role and subscription narrow it further.
package struct Audience: Codable, Hashable, Sendable {
    /// Only this account, nil for every account.
    package var userID: UserID?
    /// Only this installation, nil for every installation.
    package var installationID: InstallationID?

    package static let everyone = Self(userID: nil, installationID: nil)

    package init(userID: UserID? = nil, installationID: InstallationID? = nil) {
        self.userID = userID
        self.installationID = installationID
    }

    enum CodingKeys: String, CodingKey {
        case userID = "user_id"
        case installationID = "installation_id"
    }
}
