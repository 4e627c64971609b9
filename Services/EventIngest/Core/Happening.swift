import Contracts

/// What an event says has happened, read from its type and data.
///
/// A further event type is one more case here and one more reader below; what it leads to is
/// decided by ``Admission``.
package enum Happening: Hashable, Sendable {
    case alert(AlertHappening)
    case security(Detection)
    case task(TaskFact)
    case test(TestEventData)

    /// Reads the data that belongs to the event's type.
    package init(_ event: ReceivedEvent) throws(ContractViolation) {
        guard let type = EventType(rawValue: event.type) else {
            let known = EventType.allCases.map(\.rawValue).joined(separator: ", ")
            throw ContractViolation("/type", "is not known here; send one of \(known)")
        }
        let data = try DataReader(event.data)
        switch type {
        case .alertTriggered: self = .alert(try AlertHappening(.firing, data))
        case .alertResolved: self = .alert(try AlertHappening(.resolved, data))
        case .securityDetected: self = .security(try Detection(data))
        case .taskRunStarted, .taskAttemptFinished, .taskRunInterrupted, .taskRunCancelled:
            self = .task(try TaskFact(type, data))
        case .testRequested:
            let installation = InstallationID(try data.identifier("installation_id"))
            self = .test(
                TestEventData(eventID: try data.uuid("event_id"), installationID: installation)
            )
        }
    }
}

/// An alert that was triggered or has recovered.
package struct AlertHappening: Hashable, Sendable {
    package var status: AlertContent.Status
    package var data: AlertEventData
    package var key: String

    init(_ status: AlertContent.Status, _ reader: DataReader) throws(ContractViolation) {
        self.status = status
        data = AlertEventData(
            ruleID: try reader.identifier("rule_id"),
            ruleName: try reader.label("rule_name"),
            serverID: try reader.identifier("server_id"),
            serverName: try reader.label("server_name"),
            sourceAddress: try reader.optionalIdentifier("source_address") ?? "",
            startedAt: try reader.timestampText("started_at")
        )
        key = try AlertCycle(data).key()
        try ContractViolation.check(
            key.utf8.count <= AlertCycle.keyBytes,
            "/data",
            "makes an alert key of more than \(AlertCycle.keyBytes) bytes: shorten rule_id,"
                + " server_id or source_address"
        )
    }
}
