import Contracts

/// What `encrypted-register` hands to the server: where the phone is and the key to seal for it.
package struct PushRegistration: Encodable, Sendable {
    package var expectedRevision: Int64
    package var deviceToken: DeviceToken
    package var environment: APNsEnvironment
    package var contentKeyID: KeyID
    package var contentKey: ContentKey
    package var deploymentID: DeploymentID

    package init(
        expectedRevision: Int64,
        deviceToken: DeviceToken,
        environment: APNsEnvironment,
        contentKeyID: KeyID,
        contentKey: ContentKey,
        deploymentID: DeploymentID
    ) {
        self.expectedRevision = expectedRevision
        self.deviceToken = deviceToken
        self.environment = environment
        self.contentKeyID = contentKeyID
        self.contentKey = contentKey
        self.deploymentID = deploymentID
    }

    enum CodingKeys: String, CodingKey {
        case expectedRevision = "expected_revision"
        case deviceToken = "device_token"
        case environment
        case contentKeyID = "content_key_id"
        case contentKey = "content_key"
        case deploymentID = "deployment_id"
    }
}

extension MobileAPI {
    private struct SaveBody: Encodable, Sendable {
        var expectedRevision: Int64
        var preferences: PushPreferences

        enum CodingKeys: String, CodingKey {
            case expectedRevision = "expected_revision"
            case preferences
        }
    }

    /// The confirmed settings of this installation.
    package func settings(_ access: String) async throws(DeviceError) -> PushSettings {
        try await call("GET", "/api/mobile/push/settings", bearer: access)
    }

    /// Writes preferences; a revision that is not the current one fails with `stale_revision`.
    package func save(
        _ preferences: PushPreferences,
        expectedRevision: Int64,
        _ access: String
    ) async throws(DeviceError) -> PushSettings {
        try await call(
            "PUT",
            "/api/mobile/push/settings",
            bearer: access,
            body: SaveBody(expectedRevision: expectedRevision, preferences: preferences)
        )
    }

    /// Registers token and content key.
    package func register(
        _ registration: PushRegistration,
        _ access: String
    ) async throws(DeviceError) -> PushSettings {
        try await call(
            "POST",
            "/api/mobile/push/encrypted-register",
            bearer: access,
            body: registration
        )
    }

    /// Asks for a test notification; the same event id and revision again changes nothing.
    package func requestTest(
        _ eventID: EventID,
        expectedRevision: Int64,
        _ access: String
    ) async throws(DeviceError) -> PushTestOutcome {
        try await call(
            "POST",
            "/api/mobile/push/test",
            bearer: access,
            body: JSONValue.object([
                "event_id": .string(eventID.description),
                "expected_revision": .integer(expectedRevision),
            ])
        )
    }

    /// What became of a test notification.
    package func testOutcome(
        _ eventID: EventID,
        _ access: String
    ) async throws(DeviceError) -> PushTestOutcome {
        try await call("GET", "/api/mobile/push/test/\(eventID)", bearer: access)
    }
}
