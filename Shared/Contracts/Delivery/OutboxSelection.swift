/// Which rows of the outbox a change is for: of an event, of an installation, of both, or all.
package struct OutboxSelection: Codable, Hashable, Sendable {
    package var eventID: EventID?
    package var installationID: InstallationID?
    /// Says that every row is meant; true exactly when nothing else is named.
    package var all: Bool?

    package init(eventID: EventID? = nil, installationID: InstallationID? = nil) {
        self.eventID = eventID
        self.installationID = installationID
        all = eventID == nil && installationID == nil ? true : nil
    }

    enum CodingKeys: String, CodingKey {
        case eventID = "event_id"
        case installationID = "installation_id"
        case all
    }

    /// Nobody means every row by leaving something out.
    func checkBounds() throws(ContractViolation) {
        let isNarrow = eventID != nil || installationID != nil
        try ContractViolation.check(
            isNarrow != (all ?? false),
            "/rows",
            "must name an event, an installation or both, or else say \"all\": true"
        )
    }
}
