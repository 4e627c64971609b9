import Contracts

/// What the store knows about a candidate, read in the transaction that will record it.
package struct AdmissionFacts: Sendable {
    /// What was recorded under the same source and id.
    package var known: Known?
    /// Whether the logical event was recorded before, under another source or id.
    package var isRepeated: Bool
    /// What is known of an alert's cycle; the default for any other event.
    package var cycle: CycleFacts
    /// What is known of a detection's dedupe key.
    package var detection = DetectionFacts()
    package var task = TaskRunFacts()
    /// Whether the store holds as many open events as it may.
    package var isFull: Bool
    /// The store's clock.
    package var now: UnixMilliseconds
    package var policy: Policy
    package var unknownRules: UnknownRules
    package var zones: ZoneOffset

    package struct Known: Hashable, Sendable {
        package var contentHash: [UInt8]
        package var eventID: EventID

        package init(contentHash: [UInt8], eventID: EventID) {
            self.contentHash = contentHash
            self.eventID = eventID
        }
    }

    package init(
        known: Known?,
        isRepeated: Bool,
        cycle: CycleFacts = CycleFacts(),
        isFull: Bool,
        now: UnixMilliseconds,
        policy: Policy = Policy(),
        unknownRules: UnknownRules = .admit,
        zones: @escaping ZoneOffset = { _, _ in nil }
    ) {
        self.known = known
        self.isRepeated = isRepeated
        self.cycle = cycle
        self.isFull = isFull
        self.now = now
        self.policy = policy
        self.unknownRules = unknownRules
        self.zones = zones
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
    /// The policy does not want a notification; recorded with the reason.
    case suppressed
    /// A part of something that notifies as a whole.
    case noted
    /// Something that decides about it cannot be had yet.
    case unresolved
}

/// What is written about an event.
package struct AdmissionRecord: Hashable, Sendable {
    package var verdict: Verdict
    package var lifetime: Lifetime
    /// Why it does not notify; nil when it does.
    package var reason: String?
    /// Whether the silence of its dedupe key begins anew.
    package var startsSilence = false
    /// What is known of a task run from now on; nil when nothing new is.
    package var task: TaskRunFacts?
    /// What it becomes, under the identity and with the names that the policy gave it.
    package var notification: Notification
}

/// What becomes of a candidate.
package enum Admission: Hashable, Sendable {
    /// Record it under its source and id, and its notification too unless it is a duplicate.
    case record(AdmissionRecord)
    /// Record nothing: the same source, id and content were recorded before.
    case resent(EventID)
    /// Record nothing: the same source and id were recorded with other content.
    case conflict
    /// Record nothing: ask the producer to come again.
    case full
    /// Record nothing: its publisher may not publish such events.
    case notPermitted
    /// Record nothing: its rule is unknown and such alerts are refused.
    case unknownRule

    /// Decides about one candidate from what the store knows; the order of the questions is part
    /// of the contract, so that a resend is recognised also by a full store.
    package init(_ candidate: EventCandidate, _ facts: AdmissionFacts) {
        let isPermitted = facts.policy.permits(
            candidate.publisher,
            type: candidate.type,
            source: candidate.source
        )
        guard isPermitted else {
            self = .notPermitted
            return
        }
        if let known = facts.known {
            self = known.contentHash == candidate.contentHash ? .resent(known.eventID) : .conflict
            return
        }
        var record = AdmissionRecord(
            verdict: .admitted,
            lifetime: Lifetime(
                time: candidate.time,
                expirytime: candidate.expirytime,
                committedAt: facts.now
            ),
            reason: nil,
            notification: candidate.notification
        )
        if case .security(let detection) = candidate.happening {
            self = Self.record(record, detection, facts)
            return
        }
        if case .task(let fact) = candidate.happening {
            self = Self.record(record, fact, facts)
            return
        }
        let decision = Self.decide(candidate, record.lifetime, facts)
        if case .known = decision {
            record.verdict = .duplicate
        } else if let lateness = record.lifetime.lateness {
            record.verdict = .expired
            record.reason = lateness.rawValue
            if case .alert = candidate.happening, facts.isRepeated { record.verdict = .duplicate }
        } else {
            switch decision {
            case .refuse:
                self = .unknownRule
                return
            case .suppress(let suppression):
                record.verdict = .suppressed
                record.reason = suppression.reason
                if facts.cycle.isKnown, let id = candidate.repeatID(record.lifetime.occurredAt) {
                    // A repeat that notifies nobody; the cycle is kept by those before it.
                    record.notification.eventID = id
                    record.notification.opensCycle = false
                }
            case .admitRepeat:
                if let id = candidate.repeatID(record.lifetime.occurredAt) {
                    record.notification.eventID = id
                }
            case .admit, .known: break
            }
        }
        if record.verdict == .admitted && facts.isFull {
            self = .full
            return
        }
        record.notification.takeNames(from: facts.policy, candidate.happening)
        self = .record(record)
    }

    private static func decide(
        _ candidate: EventCandidate,
        _ lifetime: Lifetime,
        _ facts: AdmissionFacts
    ) -> AlertDecision {
        switch candidate.happening {
        case .alert(let alert):
            facts.policy.decide(
                alert,
                at: lifetime.occurredAt,
                cycle: facts.cycle,
                unknownRules: facts.unknownRules,
                zones: facts.zones
            )
        case .test, .security, .task: facts.isRepeated ? .known : .admit
        }
    }

    private static func record(
        _ record: AdmissionRecord,
        _ detection: Detection,
        _ facts: AdmissionFacts
    ) -> Admission {
        var record = record
        if facts.isRepeated {
            record.verdict = .duplicate
        } else if let lateness = record.lifetime.lateness {
            (record.verdict, record.reason) = (.expired, lateness.rawValue)
        } else {
            let decision = facts.policy.decide(
                detection,
                at: record.lifetime.occurredAt,
                facts: facts.detection,
                zones: facts.zones
            )
            record.startsSilence = decision.startsSilence
            switch decision {
            case .admit: break
            case .suppress(let suppression):
                (record.verdict, record.reason) = (.suppressed, suppression.reason)
            case .unresolved: record.verdict = .unresolved
            }
        }
        let isOpen = [.admitted, .unresolved].contains(record.verdict)
        return isOpen && facts.isFull ? .full : .record(record)
    }
}
