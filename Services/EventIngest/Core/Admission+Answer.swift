import Contracts

extension Admission {
    /// How long a producer waits before it publishes again to a full store, in milliseconds.
    package static let fullRetryMilliseconds: Int64 = 5000

    /// What the producer is told, once the decision is committed.
    package var result: EventPublishAnswer.Result {
        switch self {
        case .record(let record): Self.result(record)
        case .resent(let eventID): .init(.duplicate, eventID: eventID)
        case .conflict:
            .init(
                .conflict,
                reason: "source and id were published before with other content; use a new id"
            )
        case .full:
            .init(
                .retryAfter,
                reason: "too many events wait for their fan-out; publish again later",
                retryAfterMilliseconds: Self.fullRetryMilliseconds
            )
        case .notPermitted: .init(.invalid, pointer: "/source", reason: Self.notPermittedReason)
        case .unknownRule:
            .init(
                .invalid,
                pointer: "/data/rule_id",
                reason: "is no rule here; have the operator add it, then publish the event again"
            )
        }
    }

    /// What a publisher is told whose event is of a source or type that is not its own.
    package static let notPermittedReason =
        "or the type is not one this principal may publish; have the operator allow both"

    private static func result(_ record: AdmissionRecord) -> EventPublishAnswer.Result {
        let eventID = record.notification.eventID
        switch record.verdict {
        case .admitted, .unresolved, .noted: return .init(.accepted, eventID: eventID)
        case .suppressed:
            return .init(
                .accepted,
                eventID: eventID,
                reason: "suppressed (\(record.reason ?? "")): recorded, nobody is notified"
            )
        case .duplicate:
            return .init(
                .duplicate,
                eventID: eventID,
                reason: "the same happening was published before under another source or id"
            )
        case .expired:
            let reason =
                record.lifetime.lateness == .expirytimePassed
                ? "its expirytime had passed: recorded, nobody is notified"
                : "it happened more than 30 minutes ago: recorded, nobody is notified"
            return .init(.accepted, eventID: eventID, reason: reason)
        }
    }
}
