import Contracts

/// What names one cycle of an alert: its trigger and its recovery carry the same four texts.
package struct AlertCycle: Hashable, Sendable {
    package var ruleID: String
    package var serverID: String
    package var sourceAddress: String
    package var startedAt: String

    /// Longest alert key, in bytes: what of an envelope's 2048 is left for it beside long names.
    package static let keyBytes = 640

    package init(_ data: AlertEventData) {
        ruleID = data.ruleID
        serverID = data.serverID
        sourceAddress = data.sourceAddress
        startedAt = data.startedAt
    }

    /// `v1.` and the padded base64 of the JSON array of the four, slashes unescaped.
    package func key() throws(ContractViolation) -> String {
        let parts: [JSONValue] = [
            .string(ruleID), .string(serverID), .string(sourceAddress), .string(startedAt),
        ]
        let json = try CloudEventAttributes.canonicalBytes(of: .array(parts))
        return "v1." + Blob(json).base64
    }
}

/// SHA-256, handed to the pure code by the service.
package typealias Hash = @Sendable ([UInt8]) -> [UInt8]

/// Makes the stable identity of logical events.
package struct EventIdentity: Sendable {
    private let sha256: Hash

    package init(sha256: @escaping Hash) { self.sha256 = sha256 }

    /// The hash that tells a resend of one (source, id) from a conflict.
    package func contentHash(of event: ReceivedEvent) -> [UInt8] { sha256(event.canonical) }

    /// One identity for each alert key and status: a UUIDv8 of the SHA-256 over the JSON array
    /// `["alert", key, status]`.
    package func eventID(
        alertKey: String,
        status: AlertContent.Status
    ) throws(ContractViolation) -> EventID {
        let name: [JSONValue] = [.string("alert"), .string(alertKey), .string(status.rawValue)]
        let bytes = try CloudEventAttributes.canonicalBytes(of: .array(name))
        guard let id = EventID(hash: sha256(bytes)) else {
            throw ContractViolation("", "cannot be named: the hash is too short")
        }
        return id
    }

    /// One identity for each detection: a UUIDv8 as above, of `["security", server, id]`.
    package func eventID(_ detection: Detection) throws(ContractViolation) -> EventID {
        let name = ["security", detection.serverID, detection.id].map(JSONValue.string)
        let bytes = try CloudEventAttributes.canonicalBytes(of: .array(name))
        guard let id = EventID(hash: sha256(bytes)) else {
            throw ContractViolation("", "cannot be named: the hash is too short")
        }
        return id
    }

    /// One identity for each task run of a source: a UUIDv8 as above, of
    /// `["task", source, task, run]`.
    package func eventID(_ fact: TaskFact, source: String) throws(ContractViolation) -> EventID {
        let name = ["task", source, fact.taskID, fact.runID].map(JSONValue.string)
        let bytes = try CloudEventAttributes.canonicalBytes(of: .array(name))
        guard let id = EventID(hash: sha256(bytes)) else {
            throw ContractViolation("", "cannot be named: the hash is too short")
        }
        return id
    }

    /// One identity for each repeat of a trigger: as above, with the second it happened in as a
    /// fourth element. Nil when the hash is too short.
    package func repeatID(alertKey: String, at second: UnixSeconds) -> EventID? {
        let name: [JSONValue] = [
            .string("alert"), .string(alertKey), .string(AlertContent.Status.firing.rawValue),
            .integer(second.seconds),
        ]
        return (try? CloudEventAttributes.canonicalBytes(of: .array(name)))
            .flatMap { EventID(hash: sha256($0)) }
    }
}
