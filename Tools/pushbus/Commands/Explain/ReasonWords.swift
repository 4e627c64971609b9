import Contracts

/// The reasons of the services in words for people; one that is not known stays as it is.
enum ReasonWords {
    /// Why EventIngest recorded an event and notifies nobody.
    static func suppression(_ reason: String?) -> String {
        guard let reason else { return "no reason was kept" }
        let parts = reason.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            .map(String.init)
        let name = parts.count > 1 ? parts[1] : ""
        return switch parts[0] {
        case "maintenance": "inside the maintenance window '\(name)'"
        case "rule_disabled" where name.isEmpty: "its rule is switched off"
        case "rule_disabled": "the rule '\(name)' is switched off"
        case "not_covered" where name.isEmpty: "its rule does not cover the server"
        case "not_covered": "the rule '\(name)' does not cover the server"
        case "rule_muted": "its rule is muted"
        case "already_resolved": "its recovery came first"
        case "no_trigger": "no trigger of its cycle notified anybody"
        case "no_rule": "no rule asks for such a detection"
        case "excluded_user": "the rule '\(name)' leaves its account out"
        case "excluded_cidr": "the rule '\(name)' leaves its address out"
        case "below_threshold" where parts.count == 3:
            "below the threshold of the rule '\(name)': \(parts[2])"
        case "dedupe_window": "a detection of the same kind came shortly before"
        case "principal_revoked": "its integrator may no longer publish it"
        case "unreadable": "what was stored of it cannot be read"
        default: reason
        }
    }

    /// Why Registration does not count an installation among the recipients.
    static func obstacle(_ reason: String) -> String {
        switch IneligibleReason(rawValue: reason) {
        case .notRegistered: "not registered for notifications"
        case .replaced: "registered anew since"
        case .sessionEnded: "signed out"
        case .unsubscribed: "not subscribed to the category"
        case .subscribedLater: "registered or subscribed after the event"
        case .role: "not allowed by the owner's role"
        case .suspect: "stopped until the app registers again, because its token was refused"
        case nil: reason
        }
    }

    /// How a row of the outbox stands.
    static func row(_ state: ReceiptState, _ reason: String?) -> String {
        let why = reason.map(delivery)
        return switch state {
        case .pending: "pending" + (why.map { ": \($0)" } ?? ": waiting for the first attempt")
        case .accepted: "accepted by APNs"
        case .retryable: "waiting" + (why.map { ": \($0)" } ?? "")
        case .permanent: "ended" + (why.map { ": \($0)" } ?? "")
        case .expired: "expired" + (why.map { ": \($0)" } ?? "")
        }
    }

    private static func delivery(_ reason: String) -> String {
        if reason.hasPrefix("Ineligible/") {
            return "no longer eligible, " + obstacle(String(reason.dropFirst(11)))
        }
        return switch reason {
        case "RelayUnreachable": "waiting for the relay, none is connected (\(reason))"
        case "RelayNoVerdict": "the relay took it and gave no verdict (\(reason))"
        case "RelayNotConfigured": "the relay has no APNs credentials (\(reason))"
        case "EligibilityUnknown": "waiting for Registration's check (\(reason))"
        case "Paused": "held back while its relay or provider is paused (\(reason))"
        case "Expired": "its time ended before it was accepted (\(reason))"
        case "Cancelled": "an operator cancelled it (\(reason))"
        default: reason
        }
    }
}
