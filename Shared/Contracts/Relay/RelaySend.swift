/// `relay.send.v1`: sealed messages for a Relay; the verdicts come back message by message.
package struct RelaySend: BusRequest, PackedMessage, Hashable {
    package typealias Answer = RelayVerdicts
    package static let type = "relay.send.v1"

    package struct Message: Codable, Hashable, Sendable {
        package var deviceToken: DeviceToken
        package var environment: APNsEnvironment
        package var eventID: EventID
        /// At most 1800 s ahead of the relay's clock.
        package var expiresAt: UnixSeconds
        package var envelope: Envelope
        /// Whether the binding is younger than a day.
        package var isYoung: Bool

        package init(
            deviceToken: DeviceToken,
            environment: APNsEnvironment,
            eventID: EventID,
            expiresAt: UnixSeconds,
            envelope: Envelope,
            isYoung: Bool
        ) {
            self.deviceToken = deviceToken
            self.environment = environment
            self.eventID = eventID
            self.expiresAt = expiresAt
            self.envelope = envelope
            self.isYoung = isYoung
        }

        enum CodingKeys: String, CodingKey {
            case deviceToken = "device_token"
            case environment
            case eventID = "event_id"
            case expiresAt = "expires_at"
            case envelope
            case isYoung = "young"
        }
    }

    /// An instant of the monotonic clock of one host, for peers on the same one.
    package struct Instant: Codable, Hashable, Sendable {
        /// The kernel's boot id of that host.
        package var boot: String
        /// Milliseconds since that boot.
        package var milliseconds: Int64

        package init(boot: String, milliseconds: Int64) {
            self.boot = boot
            self.milliseconds = milliseconds
        }

        enum CodingKeys: String, CodingKey {
            case boot
            case milliseconds = "monotonic_ms"
        }
    }

    /// A relay that reads the messages later than this sends none of them. One on another host
    /// cannot tell, since there is no common clock, and one that does not know the field does not.
    package var sendBy: Instant?
    /// At most ``BusLimits/records``; verdicts name a message by its place here.
    package var messages: [Message]

    package init(messages: [Message], sendBy: Instant? = nil) {
        self.messages = messages
        self.sendBy = sendBy
    }

    enum CodingKeys: String, CodingKey {
        case messages
        case sendBy = "send_by"
    }

    package func checkBounds() throws(ContractViolation) {
        try ContractViolation.check(
            messages.count <= BusLimits.records,
            "/messages",
            "holds more than \(BusLimits.records) records"
        )
        for (index, message) in messages.enumerated() {
            try message.envelope.checkBounds(at: "/messages/\(index)/envelope")
        }
    }

    package func pack(into packer: any Packer) {
        packer.beginMap(fields: sendBy == nil ? 1 : 2)
        if let sendBy {
            packer.key("send_by")
            packer.beginMap(fields: 2)
            packer.field("boot", text: sendBy.boot)
            packer.field("monotonic_ms", integer: sendBy.milliseconds)
        }
        packer.key("messages")
        packer.beginArray(elements: messages.count)
        for message in messages {
            packer.beginMap(fields: 6)
            packer.field("device_token", text: message.deviceToken.hex)
            packer.field("environment", text: message.environment.rawValue)
            packer.field("event_id", text: message.eventID.description)
            packer.field("expires_at", integer: message.expiresAt.seconds)
            packer.key("envelope")
            message.envelope.pack(into: packer)
            packer.field("young", flag: message.isYoung)
        }
    }

    package init(packed value: PackedValue) throws(ContractViolation) {
        if let instant = try value.field("send_by") {
            sendBy = Instant(
                boot: try instant.required("boot").text(),
                milliseconds: try instant.required("monotonic_ms").integer()
            )
        }
        messages = []
        for element in try value.required("messages").elements() {
            guard let token = DeviceToken(try element.required("device_token").text()) else {
                throw ContractViolation("/messages/device_token", "must be lowercase hex")
            }
            messages.append(
                Message(
                    deviceToken: token,
                    environment: try element.choice("environment"),
                    eventID: try element.uuid("event_id"),
                    expiresAt: UnixSeconds(try element.required("expires_at").integer()),
                    envelope: try Envelope(packed: try element.required("envelope")),
                    isYoung: try element.required("young").flag()
                )
            )
        }
    }
}

/// `relay.verdict.v1`: some verdicts of one `relay.send.v1`; the message with `last` ends it.
package struct RelayVerdicts: PackedMessage, Hashable {
    package static let type = "relay.verdict.v1"

    package struct Verdict: Codable, Hashable, Sendable {
        /// The place of the message in the request.
        package var index: Int
        package var outcome: Outcome
        /// A stable word; an unknown reason of the provider is kept as it came.
        package var reason: String
        package var scope: VerdictScope
        package var exposure: Exposure
        /// What the registration should learn, if anything.
        package var cleanup: CleanupKind?
        /// When a retry makes sense at the earliest, from now.
        package var retryAfterMilliseconds: Int64?
        package var apnsTimestamp: UnixMilliseconds?

        package init(
            index: Int,
            outcome: Outcome,
            reason: String,
            scope: VerdictScope,
            exposure: Exposure,
            cleanup: CleanupKind? = nil,
            retryAfterMilliseconds: Int64? = nil,
            apnsTimestamp: UnixMilliseconds? = nil
        ) {
            self.index = index
            self.outcome = outcome
            self.reason = reason
            self.scope = scope
            self.exposure = exposure
            self.cleanup = cleanup
            self.retryAfterMilliseconds = retryAfterMilliseconds
            self.apnsTimestamp = apnsTimestamp
        }

        enum CodingKeys: String, CodingKey {
            case index
            case outcome
            case reason
            case scope
            case exposure
            case cleanup
            case retryAfterMilliseconds = "retry_after_ms"
            case apnsTimestamp = "apns_timestamp_ms"
        }
    }

    package var verdicts: [Verdict]
    /// Whether every message of the request has its verdict now.
    package var last: Bool

    package init(verdicts: [Verdict], last: Bool) {
        self.verdicts = verdicts
        self.last = last
    }

    package func pack(into packer: any Packer) {
        packer.beginMap(fields: 2)
        packer.key("verdicts")
        packer.beginArray(elements: verdicts.count)
        for verdict in verdicts {
            let optional = [
                verdict.cleanup != nil, verdict.retryAfterMilliseconds != nil,
                verdict.apnsTimestamp != nil,
            ]
            packer.beginMap(fields: 5 + optional.count(where: \.self))
            packer.field("index", integer: Int64(verdict.index))
            packer.field("outcome", text: verdict.outcome.rawValue)
            packer.field("reason", text: verdict.reason)
            packer.field("scope", text: verdict.scope.rawValue)
            packer.field("exposure", text: verdict.exposure.rawValue)
            packer.field("cleanup", optionalText: verdict.cleanup?.rawValue)
            packer.field("retry_after_ms", optionalInteger: verdict.retryAfterMilliseconds)
            packer.field("apns_timestamp_ms", optionalInteger: verdict.apnsTimestamp?.milliseconds)
        }
        packer.field("last", flag: last)
    }

    package init(packed value: PackedValue) throws(ContractViolation) {
        verdicts = []
        for element in try value.required("verdicts").elements() {
            verdicts.append(
                Verdict(
                    index: Int(try element.required("index").integer()),
                    outcome: try element.choice("outcome"),
                    reason: try element.required("reason").text(),
                    scope: try element.choice("scope"),
                    exposure: try element.choice("exposure"),
                    cleanup: try element.field("cleanup") == nil
                        ? nil : try element.choice("cleanup"),
                    retryAfterMilliseconds: try element.field("retry_after_ms")?.integer(),
                    apnsTimestamp: (try element.field("apns_timestamp_ms")?.integer())
                        .map(UnixMilliseconds.init)
                )
            )
        }
        last = try value.required("last").flag()
    }
}
