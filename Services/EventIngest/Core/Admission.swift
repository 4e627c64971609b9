import Contracts

/// What the store knows about a candidate, read in the transaction that will record it.
package struct AdmissionFacts: Hashable, Sendable {
    /// What was recorded under the same source and id.
    package var known: Known?
    /// Whether the logical event was recorded before, under another source or id.
    package var isRepeated: Bool
    /// Whether the store holds as many open events as it may.
    package var isFull: Bool
    /// The store's clock.
    package var now: UnixMilliseconds

    package struct Known: Hashable, Sendable {
        package var contentHash: [UInt8]
        package var eventID: EventID

        package init(contentHash: [UInt8], eventID: EventID) {
            self.contentHash = contentHash
            self.eventID = eventID
        }
    }

    package init(known: Known?, isRepeated: Bool, isFull: Bool, now: UnixMilliseconds) {
        self.known = known
        self.isRepeated = isRepeated
        self.isFull = isFull
        self.now = now
    }
}

/// What is recorded about an event under its source and id.
package enum Verdict: String, Codable, Hashable, CaseIterable, Sendable {
    /// It became a notification, which is handed to Fanout.
    case admitted
    /// The same happening was reported before under another source or id.
    case duplicate
    /// It came after its time had ended; recorded and never fanned out.
    case expired
}

/// What becomes of a candidate.
package enum Admission: Hashable, Sendable {
    /// Record it under its source and id, and its notification too unless it is a duplicate.
    case record(Verdict, Lifetime)
    /// Record nothing: the same source, id and content were recorded before.
    case resent(EventID)
    /// Record nothing: the same source and id were recorded with other content.
    case conflict
    /// Record nothing: ask the producer to come again.
    case full

    /// Decides about one candidate from what the store knows; the order of the questions is part
    /// of the contract, so that a resend is recognised also by a full store.
    package init(_ candidate: EventCandidate, _ facts: AdmissionFacts) {
        if let known = facts.known {
            self = known.contentHash == candidate.contentHash ? .resent(known.eventID) : .conflict
            return
        }
        let lifetime = Lifetime(
            time: candidate.time,
            expirytime: candidate.expirytime,
            committedAt: facts.now
        )
        if facts.isRepeated {
            self = .record(.duplicate, lifetime)
        } else if lifetime.lateness != nil {
            self = .record(.expired, lifetime)
        } else if facts.isFull {
            self = .full
        } else {
            self = .record(.admitted, lifetime)
        }
    }
}

extension Admission {
    /// How long a producer waits before it publishes again to a full store, in milliseconds.
    package static let fullRetryMilliseconds: Int64 = 5000

    /// What the producer is told, once the decision is committed.
    package func result(for candidate: EventCandidate) -> EventPublishAnswer.Result {
        let eventID = candidate.notification.eventID
        switch self {
        case .record(.admitted, _):
            return .init(.accepted, eventID: eventID)
        case .record(.duplicate, _):
            return .init(
                .duplicate,
                eventID: eventID,
                reason: "the same happening was published before under another source or id"
            )
        case .record(.expired, let lifetime):
            let reason =
                lifetime.lateness == .expirytimePassed
                ? "its expirytime had passed: recorded, nobody is notified"
                : "it happened more than 30 minutes ago: recorded, nobody is notified"
            return .init(.accepted, eventID: eventID, reason: reason)
        case .resent(let eventID):
            return .init(.duplicate, eventID: eventID)
        case .conflict:
            return .init(
                .conflict,
                reason: "source and id were published before with other content; use a new id"
            )
        case .full:
            return .init(
                .retryAfter,
                reason: "too many events wait for their fan-out; publish again later",
                retryAfterMilliseconds: Self.fullRetryMilliseconds
            )
        }
    }
}
