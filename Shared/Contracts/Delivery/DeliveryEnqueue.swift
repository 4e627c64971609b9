/// `delivery.enqueue.v1`: sealed messages of one event for Delivery's outbox.
///
/// The answer means that every record is committed. Unique per (event, installation): a repeat is
/// counted as a duplicate and changes nothing. A full outbox answers `reject.v1` `retry_after`.
package struct DeliveryEnqueue: BusRequest, PackedMessage, Hashable {
    package typealias Answer = DeliveryEnqueueAnswer
    package static let type = "delivery.enqueue.v1"

    package struct Record: Codable, Hashable, Sendable {
        package var installationID: InstallationID
        package var binding: Int64
        /// Nil when this installation could not be sealed.
        package var envelope: Envelope?
        /// Why it could not be sealed; such a row is terminal at once.
        package var failure: String?

        package init(installationID: InstallationID, binding: Int64, envelope: Envelope) {
            self.installationID = installationID
            self.binding = binding
            self.envelope = envelope
        }

        package init(installationID: InstallationID, binding: Int64, failure: String) {
            self.installationID = installationID
            self.binding = binding
            self.failure = failure
        }

        enum CodingKeys: String, CodingKey {
            case installationID = "installation_id"
            case binding
            case envelope
            case failure
        }
    }

    package var eventID: EventID
    package var category: Category
    package var createdAt: UnixSeconds
    package var expiresAt: UnixSeconds
    package var watermark: Int64
    /// At most ``BusLimits/records``.
    package var records: [Record]

    package init(
        eventID: EventID,
        category: Category,
        createdAt: UnixSeconds,
        expiresAt: UnixSeconds,
        watermark: Int64,
        records: [Record]
    ) {
        self.eventID = eventID
        self.category = category
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.watermark = watermark
        self.records = records
    }

    enum CodingKeys: String, CodingKey {
        case eventID = "event_id"
        case category
        case createdAt = "created_at"
        case expiresAt = "expires_at"
        case watermark
        case records
    }

    package func checkBounds() throws(ContractViolation) {
        try ContractViolation.check(
            records.count <= BusLimits.records,
            "/records",
            "holds more than \(BusLimits.records) records"
        )
        for (index, record) in records.enumerated() {
            let pointer = "/records/\(index)"
            try ContractViolation.check(
                record.installationID.isWellFormed,
                "\(pointer)/installation_id",
                "must be 1 to 512 bytes without control characters"
            )
            try ContractViolation.check(
                (record.envelope == nil) != (record.failure == nil),
                pointer,
                "must hold either an envelope or a failure"
            )
            try record.envelope?.checkBounds(at: "\(pointer)/envelope")
        }
    }

    package func pack(into packer: any Packer) {
        packer.beginMap(fields: 6)
        packer.field("event_id", text: eventID.description)
        packer.field("category", text: category.rawValue)
        packer.field("created_at", integer: createdAt.seconds)
        packer.field("expires_at", integer: expiresAt.seconds)
        packer.field("watermark", integer: watermark)
        packer.key("records")
        packer.beginArray(elements: records.count)
        for record in records {
            packer.beginMap(fields: 3)
            packer.field("installation_id", text: record.installationID.text)
            packer.field("binding", integer: record.binding)
            if let envelope = record.envelope {
                packer.key("envelope")
                envelope.pack(into: packer)
            } else {
                packer.field("failure", text: record.failure ?? "")
            }
        }
    }

    package init(packed value: PackedValue) throws(ContractViolation) {
        eventID = try value.uuid("event_id")
        category = try value.choice("category")
        createdAt = UnixSeconds(try value.required("created_at").integer())
        expiresAt = UnixSeconds(try value.required("expires_at").integer())
        watermark = try value.required("watermark").integer()
        records = []
        for element in try value.required("records").elements() {
            let installation: InstallationID = try element.identifier("installation_id")
            let binding = try element.required("binding").integer()
            if let envelope = try element.field("envelope") {
                records.append(
                    Record(
                        installationID: installation,
                        binding: binding,
                        envelope: try Envelope(packed: envelope)
                    )
                )
            } else {
                records.append(
                    Record(
                        installationID: installation,
                        binding: binding,
                        failure: try element.required("failure").text()
                    )
                )
            }
        }
    }
}

/// Every record of the batch is committed.
package struct DeliveryEnqueueAnswer: PackedMessage, Hashable {
    package static let type = "delivery.enqueue.answer.v1"
    /// Records that became rows now.
    package var accepted: Int64
    /// Records that were rows already.
    package var duplicate: Int64

    package init(accepted: Int64, duplicate: Int64) {
        self.accepted = accepted
        self.duplicate = duplicate
    }

    /// Whether every record of a batch of that size is a row now.
    package func accountsFor(_ records: Int) -> Bool {
        let (sum, overflow) = accepted.addingReportingOverflow(duplicate)
        return accepted >= 0 && duplicate >= 0 && !overflow && sum == Int64(records)
    }

    package func pack(into packer: any Packer) {
        packer.beginMap(fields: 2)
        packer.field("accepted", integer: accepted)
        packer.field("duplicate", integer: duplicate)
    }

    package init(packed value: PackedValue) throws(ContractViolation) {
        accepted = try value.required("accepted").integer()
        duplicate = try value.required("duplicate").integer()
    }
}
