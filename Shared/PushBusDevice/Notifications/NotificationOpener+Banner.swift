import Contracts

extension NotificationOpener {
    /// The text of opened content.
    package func banner(for content: NotificationContent) -> Banner {
        let text = TextTable(language)
        switch content {
        case .test:
            return Banner(title: text[.testTitle], body: text[.testBody])
        case .alert(let alert):
            let values = ["rule": alert.ruleName, "server": alert.serverName]
            return switch alert.status {
            case .firing:
                Banner(
                    title: text.filled(.alertFiringTitle, values),
                    body: text.filled(.alertFiringBody, values)
                )
            case .resolved:
                Banner(
                    title: text.filled(.alertResolvedTitle, values),
                    body: text.filled(.alertResolvedBody, values)
                )
            }
        case .security(let security):
            let body: TextKey =
                switch security.securityEventType {
                case "ssh_new_ip_login": .securityNewLoginBody
                case "ssh_brute_force_detected": .securityBruteForceBody
                case "port_scan_detected": .securityPortScanBody
                default: .securityOtherBody
                }
            return Banner(
                title: text[.securityTitle],
                body: text.filled(body, ["server": security.serverID])
            )
        case .taskFailure(let run):
            return Banner(
                title: text[.taskFailureTitle],
                body: text.filled(
                    .taskFailureBody,
                    [
                        "total": "\(run.total)", "failed": "\(run.failed)",
                        "timed_out": "\(run.timedOut)", "offline": "\(run.offline)",
                        "denied": "\(run.denied)",
                    ]
                )
            )
        case .taskSuccess(let run):
            return Banner(
                title: text[.taskSuccessTitle],
                body: text.filled(.taskSuccessBody, ["total": "\(run.total)"])
            )
        }
    }
}
