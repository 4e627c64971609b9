import Contracts

extension Samples {
    static let alertRule = AlertRule(
        id: "cpu",
        name: "CPU above 90 %",
        coverage: Coverage(.exclude, ["test-1"]),
        repeatSeconds: 900
    )

    static let policy: [any BusMessage] = [
        PolicyChange(
            by: "alice",
            put: [
                PolicyItem(alertRule),
                PolicyItem(
                    MaintenanceWindow(
                        id: "night",
                        name: "Backups",
                        coverage: Coverage(.include, ["web-1"]),
                        weekly: .init(
                            zone: "Europe/Berlin",
                            days: [.monday, .sunday],
                            from: wallTime(1380),
                            until: wallTime(120)
                        )
                    )
                ),
                PolicyItem(
                    MaintenanceWindow(
                        id: "move",
                        name: "New rack",
                        isEnabled: false,
                        once: .init(
                            from: UnixSeconds(2_000_000_000),
                            until: UnixSeconds(2_000_003_600)
                        )
                    )
                ),
                PolicyItem(
                    SecurityRule(
                        id: "guess",
                        name: "Guessed passwords",
                        type: .bruteForce,
                        threshold: 10,
                        excludeUsers: ["deploy"],
                        excludeNetworks: ["10.0.0.0/8", "2001:db8::1"]
                    )
                ),
                PolicyItem(
                    Integrator(
                        id: "monitor",
                        name: "Monitoring",
                        sources: ["/monitor/*"],
                        types: ["org.pushbus.alert.*"],
                        keyHashes: [String(repeating: "0f", count: 32)]
                    )
                ),
            ],
            remove: [PolicyKey(.alertRule, "disk")]
        ),
        PolicyChangeAnswer(changed: 5, cancelled: 1),
        PolicyQuery(kind: .maintenance, after: "a", limit: 10),
        PolicyQueryAnswer(
            entries: [
                .init(
                    item: PolicyItem(alertRule),
                    changedAt: UnixSeconds(2_000_000_000),
                    changedBy: "alice"
                )
            ],
            more: true
        ),
        AuditQuery(before: 9, limit: 10),
        AuditQueryAnswer(entries: [
            .init(
                number: 8,
                at: UnixSeconds(2_000_000_000),
                by: "alice",
                key: PolicyKey(.alertRule, "cpu"),
                item: PolicyItem(alertRule)
            )
        ]),
    ]

    private static func wallTime(_ minutes: Int64) -> WallTime {
        guard let time = WallTime(minutes: minutes) else { preconditionFailure("sample time") }
        return time
    }
}
