/// `eligibility.check.v1`: may these installations still receive, and where are they now?
///
/// Asked before every send. The answer is valid for ``EligibilityCheckAnswer/validity`` from the
/// moment the question was sent; no answer means wait, never send.
package struct EligibilityCheck: BusRequest, PackedMessage, Hashable {
    package typealias Answer = EligibilityCheckAnswer
    package static let type = "eligibility.check.v1"

    package struct Check: Codable, Hashable, Sendable {
        package var installationID: InstallationID
        package var binding: Int64
        package var watermark: Int64
        package var category: Category

        package init(
            installationID: InstallationID,
            binding: Int64,
            watermark: Int64,
            category: Category
        ) {
            self.installationID = installationID
            self.binding = binding
            self.watermark = watermark
            self.category = category
        }

        enum CodingKeys: String, CodingKey {
            case installationID = "installation_id"
            case binding
            case watermark
            case category
        }
    }

    /// At most ``BusLimits/records``; the answer has one entry for each, in this order.
    package var checks: [Check]

    package init(checks: [Check]) { self.checks = checks }

    package func checkBounds() throws(ContractViolation) {
        try ContractViolation.check(
            checks.count <= BusLimits.records,
            "/checks",
            "holds more than \(BusLimits.records) records"
        )
    }

    package func pack(into packer: any Packer) {
        packer.beginMap(fields: 1)
        packer.key("checks")
        packer.beginArray(elements: checks.count)
        for check in checks {
            packer.beginMap(fields: 4)
            packer.field("installation_id", text: check.installationID.text)
            packer.field("binding", integer: check.binding)
            packer.field("watermark", integer: check.watermark)
            packer.field("category", text: check.category.rawValue)
        }
    }

    package init(packed value: PackedValue) throws(ContractViolation) {
        checks = []
        for element in try value.required("checks").elements() {
            checks.append(
                Check(
                    installationID: try element.identifier("installation_id"),
                    binding: try element.required("binding").integer(),
                    watermark: try element.required("watermark").integer(),
                    category: try element.choice("category")
                )
            )
        }
    }
}

/// Why an installation may not receive a message; such a row ends permanent/Ineligible.
package enum IneligibleReason: String, Codable, CaseIterable, Sendable {
    case notRegistered = "not_registered"
    /// The registration's identity changed after the message was made.
    case replaced
    case sessionEnded = "session_ended"
    case unsubscribed
    /// The category was switched on, or the role gained, after the event.
    case subscribedLater = "subscribed_later"
    case role
    /// The provider called the token or its environment wrong; the app must register again.
    case suspect
}

package struct EligibilityCheckAnswer: PackedMessage, Hashable {
    package static let type = "eligibility.check.answer.v1"

    /// How long an answer may be acted on, in seconds.
    package static let validitySeconds: Int64 = 5

    /// Where an eligible installation is reached now.
    package struct Target: Codable, Hashable, Sendable {
        package var deviceToken: DeviceToken
        package var environment: APNsEnvironment
        /// When the app last confirmed this registration; a clean-up names it again.
        package var confirmedAt: UnixMilliseconds
        /// Whether the binding is younger than a day: its rejections must not throttle others.
        package var isYoung: Bool

        package init(
            deviceToken: DeviceToken,
            environment: APNsEnvironment,
            confirmedAt: UnixMilliseconds,
            isYoung: Bool
        ) {
            self.deviceToken = deviceToken
            self.environment = environment
            self.confirmedAt = confirmedAt
            self.isYoung = isYoung
        }

        enum CodingKeys: String, CodingKey {
            case deviceToken = "device_token"
            case environment
            case confirmedAt = "confirmed_at_ms"
            case isYoung = "young"
        }
    }

    package enum Verdict: Hashable, Sendable {
        case eligible(Target)
        case ineligible(IneligibleReason)
    }

    package var verdicts: [Verdict]

    package init(verdicts: [Verdict]) { self.verdicts = verdicts }

    package func pack(into packer: any Packer) {
        packer.beginMap(fields: 1)
        packer.key("verdicts")
        packer.beginArray(elements: verdicts.count)
        for verdict in verdicts {
            packer.beginMap(fields: 1)
            switch verdict {
            case .eligible(let target):
                packer.key("eligible")
                packer.beginMap(fields: 4)
                packer.field("device_token", text: target.deviceToken.hex)
                packer.field("environment", text: target.environment.rawValue)
                packer.field("confirmed_at_ms", integer: target.confirmedAt.milliseconds)
                packer.field("young", flag: target.isYoung)
            case .ineligible(let reason):
                packer.field("ineligible", text: reason.rawValue)
            }
        }
    }

    package init(packed value: PackedValue) throws(ContractViolation) {
        verdicts = []
        for element in try value.required("verdicts").elements() {
            guard let target = try element.field("eligible") else {
                verdicts.append(.ineligible(try element.choice("ineligible")))
                continue
            }
            guard let token = DeviceToken(try target.required("device_token").text()) else {
                throw ContractViolation("/eligible/device_token", "must be lowercase hex")
            }
            verdicts.append(
                .eligible(
                    Target(
                        deviceToken: token,
                        environment: try target.choice("environment"),
                        confirmedAt: UnixMilliseconds(
                            try target.required("confirmed_at_ms").integer()
                        ),
                        isYoung: try target.required("young").flag()
                    )
                )
            )
        }
    }
}

extension EligibilityCheckAnswer.Verdict: Codable {
    enum CodingKeys: String, CodingKey {
        case eligible
        case ineligible
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let target = try container.decodeIfPresent(
            EligibilityCheckAnswer.Target.self,
            forKey: .eligible
        ) {
            self = .eligible(target)
        } else {
            self = .ineligible(try container.decode(IneligibleReason.self, forKey: .ineligible))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .eligible(let target): try container.encode(target, forKey: .eligible)
        case .ineligible(let reason): try container.encode(reason, forKey: .ineligible)
        }
    }
}
