/// `audience.page.v1`: the next recipients of one event, in the byte order of their installation ids.
package struct AudiencePage: BusRequest, PackedMessage, Hashable {
    package typealias Answer = AudiencePageAnswer
    package static let type = "audience.page.v1"

    package var category: Category
    package var watermark: Int64
    package var audience: Audience
    /// The page begins after this installation.
    package var after: InstallationID?
    /// At most ``BusLimits/records`` recipients.
    package var limit: Int

    package init(
        category: Category,
        watermark: Int64,
        audience: Audience,
        after: InstallationID?,
        limit: Int
    ) {
        self.category = category
        self.watermark = watermark
        self.audience = audience
        self.after = after
        self.limit = limit
    }

    package func checkBounds() throws(ContractViolation) {
        try BusLimits.checkPage(limit)
    }

    package func pack(into packer: any Packer) {
        let fields = [audience.userID?.text, audience.installationID?.text].compactMap(\.self).count
        packer.beginMap(fields: after == nil ? 4 : 5)
        packer.field("category", text: category.rawValue)
        packer.field("watermark", integer: watermark)
        packer.key("audience")
        packer.beginMap(fields: fields)
        packer.field("user_id", optionalText: audience.userID?.text)
        packer.field("installation_id", optionalText: audience.installationID?.text)
        packer.field("after", optionalText: after?.text)
        packer.field("limit", integer: Int64(limit))
    }

    package init(packed value: PackedValue) throws(ContractViolation) {
        category = try value.choice("category")
        watermark = try value.required("watermark").integer()
        let audience = try value.required("audience")
        self.audience = Audience(
            userID: try audience.field("user_id")?.text().asIdentifier(),
            installationID: try audience.field("installation_id")?.text().asIdentifier()
        )
        after = try value.field("after")?.text().asIdentifier()
        limit = Int(try value.required("limit").integer())
    }
}

extension String {
    /// This text as an identifier of the kind the context asks for.
    package func asIdentifier<Tag>() -> TextIdentifier<Tag> { TextIdentifier(self) }
}

/// One page of an audience, with content keys: it crosses ipc or CURVE only and is never stored.
package struct AudiencePageAnswer: PackedMessage, Hashable {
    package static let type = "audience.page.answer.v1"

    package struct Recipient: Codable, Hashable, Sendable {
        package var installationID: InstallationID
        package var userID: UserID
        package var deploymentID: DeploymentID
        package var sessionID: SessionID
        package var role: Role
        package var binding: Int64
        package var keyID: KeyID
        /// Nil when what is stored is no key of 32 bytes: nobody can seal for this installation, and
        /// it must not stop the others of the page.
        package var contentKey: ContentKey?

        package init(
            installationID: InstallationID,
            userID: UserID,
            deploymentID: DeploymentID,
            sessionID: SessionID,
            role: Role,
            binding: Int64,
            keyID: KeyID,
            contentKey: ContentKey?
        ) {
            self.installationID = installationID
            self.userID = userID
            self.deploymentID = deploymentID
            self.sessionID = sessionID
            self.role = role
            self.binding = binding
            self.keyID = keyID
            self.contentKey = contentKey
        }

        enum CodingKeys: String, CodingKey {
            case installationID = "installation_id"
            case userID = "user_id"
            case deploymentID = "deployment_id"
            case sessionID = "session_id"
            case role
            case binding
            case keyID = "key_id"
            case contentKey = "content_key"
        }

        package init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            installationID = try container.decode(InstallationID.self, forKey: .installationID)
            userID = try container.decode(UserID.self, forKey: .userID)
            deploymentID = try container.decode(DeploymentID.self, forKey: .deploymentID)
            sessionID = try container.decode(SessionID.self, forKey: .sessionID)
            role = try container.decode(Role.self, forKey: .role)
            binding = try container.decode(Int64.self, forKey: .binding)
            keyID = try container.decode(KeyID.self, forKey: .keyID)
            contentKey = ContentKey(try container.decode(Blob.self, forKey: .contentKey).bytes)
        }

        package func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(installationID, forKey: .installationID)
            try container.encode(userID, forKey: .userID)
            try container.encode(deploymentID, forKey: .deploymentID)
            try container.encode(sessionID, forKey: .sessionID)
            try container.encode(role, forKey: .role)
            try container.encode(binding, forKey: .binding)
            try container.encode(keyID, forKey: .keyID)
            try container.encode(Blob(contentKey?.bytes ?? []), forKey: .contentKey)
        }
    }

    package var recipients: [Recipient]
    /// The last installation this page looked at, recipient or not; nil when it looked at none.
    package var last: InstallationID?
    /// Whether installations beyond `last` remain.
    package var more: Bool
    /// Installations between `after` and `last` that are no recipients, by reason.
    package var skipped: [String: Int64]

    package init(
        recipients: [Recipient],
        last: InstallationID?,
        more: Bool,
        skipped: [String: Int64]
    ) {
        self.recipients = recipients
        self.last = last
        self.more = more
        self.skipped = skipped
    }

    package func checkBounds() throws(ContractViolation) {
        try ContractViolation.check(
            recipients.count <= BusLimits.records,
            "/recipients",
            "holds more than \(BusLimits.records) records"
        )
    }

    package func pack(into packer: any Packer) {
        packer.beginMap(fields: last == nil ? 3 : 4)
        packer.key("recipients")
        packer.beginArray(elements: recipients.count)
        for recipient in recipients { recipient.pack(into: packer) }
        packer.field("last", optionalText: last?.text)
        packer.field("more", flag: more)
        packer.field("skipped", counts: skipped)
    }

    package init(packed value: PackedValue) throws(ContractViolation) {
        recipients = []
        for element in try value.required("recipients").elements() {
            recipients.append(try Recipient(packed: element))
        }
        last = try value.field("last")?.text().asIdentifier()
        more = try value.required("more").flag()
        skipped = try value.counts("skipped")
    }
}

extension AudiencePageAnswer.Recipient {
    package func pack(into packer: any Packer) {
        packer.beginMap(fields: 8)
        packer.field("installation_id", text: installationID.text)
        packer.field("user_id", text: userID.text)
        packer.field("deployment_id", text: deploymentID.text)
        packer.field("session_id", text: sessionID.text)
        packer.field("role", text: role.rawValue)
        packer.field("binding", integer: binding)
        packer.field("key_id", text: keyID.description)
        packer.field("content_key", binary: contentKey?.bytes ?? [])
    }

    package init(packed value: PackedValue) throws(ContractViolation) {
        installationID = try value.identifier("installation_id")
        userID = try value.identifier("user_id")
        deploymentID = try value.identifier("deployment_id")
        sessionID = try value.identifier("session_id")
        role = try value.choice("role")
        binding = try value.required("binding").integer()
        keyID = try value.uuid("key_id")
        contentKey = ContentKey(try value.required("content_key").binary())
    }
}
