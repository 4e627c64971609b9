import Commands
import Contracts
import ServiceKit

/// `pushbus rule …`: rules of alerts and of detections.
enum RuleCommand {
    static let all = [add, security, list, remove]

    static let add = Command(
        "rule add",
        "Adds a rule of alerts, or puts another in its place.",
        positionals: [.init("ID", "the rule_id of its events")],
        options: [
            .value("--name", "NAME", "what people read (default: the id)"),
            .flag("--disabled", "its triggers notify nobody"),
            .value(
                "--repeat-minutes",
                "MINUTES",
                "notify again at a trigger so long after the last one, 5 or more"
            ),
            .value(
                "--suppression",
                "WHEN",
                "maintenance (default), never or always: when triggers are kept quiet"
            ),
        ] + PolicySession.coverage + BusConnection.options,
        notes: PolicySession.audited
    ) { arguments in
        try await PolicySession.put(PolicyItem(try rule(arguments)), arguments)
    }

    static func rule(_ arguments: Arguments) throws(UsageError) -> AlertRule {
        let id = try arguments.requiredWord("ID")
        let minutes = try arguments.value("--repeat-minutes", "a number of 5 or more") { text in
            Int64(text).flatMap { (5...10_080).contains($0) ? $0 : nil }
        }
        return AlertRule(
            id: id,
            name: arguments.value("--name") ?? id,
            isEnabled: !arguments.has("--disabled"),
            coverage: try PolicySession.coverage(arguments),
            repeatSeconds: minutes.map { $0 * 60 },
            suppression: try arguments.value(
                "--suppression",
                "maintenance, never or always",
                AlertRule.Suppression.init(rawValue:)
            ) ?? .maintenance
        )
    }

    static let security = Command(
        "rule security",
        "Adds a rule of detections, or puts another in its place.",
        positionals: [.init("ID", "names the rule")],
        options: [
            .value("--type", "TYPE", SecurityRuleType.names + " (required)"),
            .value("--name", "NAME", "what people read (default: the id)"),
            .flag("--disabled", "it lets nothing notify"),
            .value("--dedupe-seconds", "SECONDS", "silence after a notification (default 3600)"),
            .value("--threshold", "COUNT", "failed logins or ports from which on it notifies"),
            .value("--exclude-users", "NAMES", "accounts left out, separated by commas"),
            .value("--exclude-cidrs", "NETWORKS", "addresses and networks left out"),
        ] + PolicySession.coverage + BusConnection.options,
        notes: PolicySession.audited
    ) { arguments in
        try await PolicySession.put(PolicyItem(try securityRule(arguments)), arguments)
    }

    static func securityRule(_ arguments: Arguments) throws(UsageError) -> SecurityRule {
        let id = try arguments.requiredWord("ID")
        let type = try arguments.value(
            "--type",
            "one of \(SecurityRuleType.names)",
            SecurityRuleType.init(rawValue:)
        )
        guard let type else { throw UsageError("--type is missing") }
        return SecurityRule(
            id: id,
            name: arguments.value("--name") ?? id,
            type: type,
            isEnabled: !arguments.has("--disabled"),
            coverage: try PolicySession.coverage(arguments),
            dedupeWindowSeconds: try arguments.value("--dedupe-seconds", "a number") { Int64($0) }
                ?? 3600,
            threshold: try arguments.value("--threshold", "a number") { Int64($0) },
            excludeUsers: PolicySession.list(arguments.value("--exclude-users")),
            excludeNetworks: PolicySession.list(arguments.value("--exclude-cidrs"))
        )
    }

    static let list = Command(
        "rule list",
        "Lists the rules in force.",
        options: [
            .flag("--security", "those of detections instead of those of alerts"),
            .flag("--json", "print one JSON object a line"),
        ] + BusConnection.options,
        notes: ExitCode.help
    ) { arguments in
        if arguments.has("--security") {
            let heads = ["id", "name", "type", "enabled", "servers", "silence", "threshold"]
            return try await PolicySession.show(.securityRule, heads, arguments) { item in
                item.securityRule.map { rule in
                    [
                        rule.id, rule.name, rule.type.rawValue, rule.isEnabled ? "yes" : "no",
                        PolicySession.text(rule.coverage), "\(rule.dedupeWindowSeconds) s",
                        "\(rule.threshold ?? 1)",
                    ]
                }
            }
        }
        let heads = ["id", "name", "enabled", "servers", "repeats", "quiet"]
        return try await PolicySession.show(.alertRule, heads, arguments) { item in
            item.alertRule.map { rule in
                [
                    rule.id, rule.name, rule.isEnabled ? "yes" : "no",
                    PolicySession.text(rule.coverage),
                    rule.repeatSeconds.map { "\($0 / 60) min" } ?? "once",
                    rule.suppression.rawValue,
                ]
            }
        }
    }

    static let remove = Command(
        "rule remove",
        "Removes a rule.",
        positionals: [.init("ID", "its id")],
        options: [
            .flag("--security", "a rule of detections instead of one of alerts")
        ] + BusConnection.options,
        notes: PolicySession.audited
    ) { arguments in
        let kind: PolicyKind = arguments.has("--security") ? .securityRule : .alertRule
        return try await PolicySession.remove(kind, arguments)
    }
}

extension SecurityRuleType {
    static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }
}
