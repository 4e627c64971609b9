/// `registration.cleanup.v1`: what the provider said about tokens, for Registration to act on.
///
/// Kept with its row by Delivery until acknowledged. Registration applies an item only if binding
/// and token are still those that were sent.
package struct RegistrationCleanup: BusRequest, Hashable {
    package typealias Answer = RegistrationCleanupAnswer
    package static let type = "registration.cleanup.v1"

    package struct Item: Codable, Hashable, Sendable {
        package var installationID: InstallationID
        package var binding: Int64
        /// SHA-256 of the token's lowercase hex text.
        package var tokenHash: Blob
        package var kind: CleanupKind
        /// When APNs learned that the token was dead, from its 410 answer.
        package var apnsTimestamp: UnixMilliseconds?
        /// `confirmed_at_ms` of the check that allowed the send.
        package var confirmedAt: UnixMilliseconds

        package init(
            installationID: InstallationID,
            binding: Int64,
            tokenHash: Blob,
            kind: CleanupKind,
            apnsTimestamp: UnixMilliseconds?,
            confirmedAt: UnixMilliseconds
        ) {
            self.installationID = installationID
            self.binding = binding
            self.tokenHash = tokenHash
            self.kind = kind
            self.apnsTimestamp = apnsTimestamp
            self.confirmedAt = confirmedAt
        }

        enum CodingKeys: String, CodingKey {
            case installationID = "installation_id"
            case binding
            case tokenHash = "token_sha256"
            case kind
            case apnsTimestamp = "apns_timestamp_ms"
            case confirmedAt = "confirmed_at_ms"
        }
    }

    /// Running totals of one environment since the sender started; only differences count.
    package struct Totals: Codable, Hashable, Sendable {
        /// Verdicts of the provider of any kind.
        package var verdicts: Int64
        package var dead: Int64
        package var suspect: Int64
        package var topic: Int64

        package init(verdicts: Int64 = 0, dead: Int64 = 0, suspect: Int64 = 0, topic: Int64 = 0) {
            self.verdicts = verdicts
            self.dead = dead
            self.suspect = suspect
            self.topic = topic
        }
    }

    /// Random at each start of the sending process.
    package var processID: String
    /// Keyed by environment (`sandbox`, `production`).
    package var totals: [String: Totals]
    /// At most ``BusLimits/records``; the answer has one entry for each, in this order.
    package var items: [Item]

    package init(processID: String, totals: [String: Totals], items: [Item]) {
        self.processID = processID
        self.totals = totals
        self.items = items
    }

    enum CodingKeys: String, CodingKey {
        case processID = "process_id"
        case totals
        case items
    }

    package func checkBounds() throws(ContractViolation) {
        try ContractViolation.check(
            items.count <= BusLimits.records,
            "/items",
            "holds more than \(BusLimits.records) records"
        )
        for (index, item) in items.enumerated() {
            try ContractViolation.check(
                item.tokenHash.bytes.count == 32,
                "/items/\(index)/token_sha256",
                "must be 32 bytes"
            )
        }
    }
}

/// What a device verdict means for the registration.
package enum CleanupKind: String, Codable, CaseIterable, Sendable {
    /// The token is finished (410).
    case dead
    /// Token and environment may not belong together (BadDeviceToken).
    case suspect
    /// The token belongs to another topic.
    case topic
}

/// What Registration did with each clean-up; all three acknowledge it.
package enum CleanupResult: String, Codable, CaseIterable, Sendable {
    case applied
    /// The registration is no longer the one the verdict was about.
    case stale
    /// The mass-failure guard stands: nothing was changed.
    case held
}

package struct RegistrationCleanupAnswer: BusMessage, Hashable {
    package static let type = "registration.cleanup.answer.v1"
    package var results: [CleanupResult]
    package init(results: [CleanupResult]) { self.results = results }
}
