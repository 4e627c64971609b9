import Contracts

/// Alerts for tests: each number is a rule of its own.
enum Alerts {
    static func triggered(_ number: Int) -> CloudEvent<AlertEventData> {
        make(number, .alertTriggered)
    }

    static func resolved(_ number: Int) -> CloudEvent<AlertEventData> {
        make(number, .alertResolved)
    }

    /// A trigger that is worth telling only until then (RFC 3339).
    static func triggered(_ number: Int, until end: String) -> CloudEvent<AlertEventData> {
        var event = make(number, .alertTriggered)
        event.expirytime = end
        return event
    }

    private static func make(_ number: Int, _ type: EventType) -> CloudEvent<AlertEventData> {
        CloudEvent(
            id: "\(type == .alertTriggered ? "t" : "r")-\(number)",
            source: "/system-tests",
            type: type.rawValue,
            data: AlertEventData(
                ruleID: "rule-\(number)",
                ruleName: "Rule \(number)",
                serverID: "server",
                serverName: "web/1",
                startedAt: "2026-01-01T00:00:00Z"
            )
        )
    }
}
