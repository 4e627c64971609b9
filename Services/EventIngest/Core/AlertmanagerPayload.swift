import Contracts

/// The webhook payload of Prometheus Alertmanager, version 4, as alert events.
///
/// Each alert of the group becomes one event. Fingerprint and start time name the cycle; only what
/// they determine goes into the event, so that the same alert in the next notification of its group
/// is a resend of the same event.
package struct AlertmanagerPayload: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        /// The event, or what is wrong with the alert.
        package var event: Result<JSONValue, ContractViolation>
    }

    package var entries: [Entry]
    /// Alerts that Alertmanager left out because of its own limit.
    package var truncated: Int64

    /// Most alerts of one notification.
    package static let alertLimit = BusLimits.records

    package init(_ value: JSONValue) throws(ContractViolation) {
        guard value.object != nil else {
            throw ContractViolation("", "must be the JSON object that Alertmanager sends")
        }
        try ContractViolation.check(
            value["version"] == .string("4"),
            "/version",
            "must be 4, the only version of Alertmanager's webhook that is taken here"
        )
        guard case .array(let alerts)? = value["alerts"], !alerts.isEmpty else {
            throw ContractViolation("/alerts", "must hold at least one alert")
        }
        try ContractViolation.check(
            alerts.count <= Self.alertLimit,
            "/alerts",
            "holds more than \(Self.alertLimit) alerts; set max_alerts of the webhook"
        )
        let receiver = value["receiver"]?.string ?? ""
        let source = "/alertmanager/" + Self.encoded(receiver)
        truncated = value["truncatedAlerts"]?.integer ?? 0
        entries = alerts.enumerated().map { index, alert in
            do throws(ContractViolation) {
                return Entry(event: .success(try Self.event(alert, source: source)))
            } catch {
                return Entry(event: .failure(error.under("/alerts/\(index)")))
            }
        }
    }

    private static func event(
        _ alert: JSONValue,
        source: String
    ) throws(ContractViolation) -> JSONValue {
        guard let labels = alert["labels"]?.object else {
            throw ContractViolation("/labels", "must be an object")
        }
        let status = try text(alert, "status")
        let type: EventType
        switch status {
        case "firing": type = .alertTriggered
        case "resolved": type = .alertResolved
        default: throw ContractViolation("/status", "must be firing or resolved")
        }
        let startedAt = try text(alert, "startsAt")
        let fingerprint = try text(alert, "fingerprint")
        guard let rule = labels["alertname"]?.string, !rule.isEmpty else {
            throw ContractViolation("/labels/alertname", "is missing; it names the rule")
        }
        let server = ["instance", "host", "node", "job"].lazy
            .compactMap { labels[$0]?.string }.first { !$0.isEmpty }
        return .object([
            "specversion": .string("1.0"),
            "id": .string("\(fingerprint) \(startedAt) \(status)"),
            "source": .string(source),
            "type": .string(type.rawValue),
            "data": .object([
                "rule_id": .string(rule), "rule_name": .string(rule),
                "server_id": .string(server ?? "alertmanager"),
                "server_name": .string(server ?? "alertmanager"),
                "source_address": .string(fingerprint),
                "started_at": .string(startedAt),
            ]),
        ])
    }

    private static func text(
        _ alert: JSONValue,
        _ name: String
    ) throws(ContractViolation) -> String {
        guard let text = alert[name]?.string, !text.isEmpty else {
            throw ContractViolation("/\(name)", "must be a non-empty string")
        }
        return text
    }

    /// Percent-encoded but for the unreserved characters of RFC 3986.
    private static func encoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF")
        return text.utf8.reduce(into: "") { result, byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e, 0x5f, 0x7e:
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                result += "%"
                result.append(digits[Int(byte >> 4)])
                result.append(digits[Int(byte & 15)])
            }
        }
    }
}
