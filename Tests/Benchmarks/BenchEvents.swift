import Contracts
import FoundationEssentials

/// Events that are new each time.
struct BenchEvents {
    private var next = 0

    /// An alert for everybody, with names that make a payload of usual length.
    mutating func alert() throws -> JSONValue {
        next += 1
        let event = CloudEvent(
            id: "alert-\(next)",
            source: "/bench",
            type: EventType.alertTriggered.rawValue,
            data: AlertEventData(
                ruleID: "rule-\(next)",
                ruleName: "Processor load above 95 percent",
                serverID: "server-\(next)",
                serverName: "web-\(next).example.org",
                startedAt: "2026-01-01T00:00:00Z"
            )
        )
        return try JSONDecoder().decode(JSONValue.self, from: try JSONEncoder().encode(event))
    }

    /// A test notification for one installation.
    static func test(_ installation: InstallationID) throws -> JSONValue {
        let id = EventID(UUID())
        let event = CloudEvent(
            id: id.description,
            source: "/bench",
            type: EventType.testRequested.rawValue,
            data: TestEventData(eventID: id, installationID: installation)
        )
        return try JSONDecoder().decode(JSONValue.self, from: try JSONEncoder().encode(event))
    }
}
