import Contracts

/// `POST /api/mobile/push/test`
package struct TestRequest: Hashable, Sendable {
    package let eventID: EventID
    package let expectedRevision: Int64

    package init(eventID: EventID, expectedRevision: Int64) {
        self.eventID = eventID
        self.expectedRevision = expectedRevision
    }

    package init(parsing body: [UInt8]) throws(RequestProblem) {
        let fields = try RequestFields(parsing: body, exactly: ["event_id", "expected_revision"])
        eventID = try fields.uuid("event_id")
        expectedRevision = try fields.revision("expected_revision")
    }
}

/// A test notification that an installation asked for; committed once, its deadline never restarts.
package struct TestNotification: Hashable, Sendable {
    /// How far its hand-over to EventIngest has come.
    package enum Progress: Hashable, Sendable {
        case unsent
        case published
        case refused(reason: String)
    }

    /// How long a test lives from its commit, in seconds.
    package static let lifetimeSeconds: Int64 = 1800

    /// How many unexpired tests an installation may have.
    package static let mostAtOnce: Int64 = 50

    package let eventID: EventID
    package let installationID: InstallationID
    package let sessionID: SessionID
    package let revision: Int64
    package let createdAt: UnixSeconds
    package var progress: Progress

    package init(
        eventID: EventID,
        installationID: InstallationID,
        sessionID: SessionID,
        revision: Int64,
        createdAt: UnixSeconds,
        progress: Progress = .unsent
    ) {
        self.eventID = eventID
        self.installationID = installationID
        self.sessionID = sessionID
        self.revision = revision
        self.createdAt = createdAt
        self.progress = progress
    }

    package var expiresAt: UnixSeconds { createdAt.adding(seconds: Self.lifetimeSeconds) }

    /// Whether the caller is the login that asked for it.
    package func belongs(to caller: Caller) -> Bool {
        sessionID == caller.session.id && installationID == caller.session.installationID
    }

    /// Accepts a repeat of the same request, refuses everything else under the same id.
    package func resume(_ request: TestRequest, by caller: Caller) throws(RequestProblem) {
        guard belongs(to: caller) else { throw .foreignTest }
        guard revision == request.expectedRevision else { throw .testConflict }
    }

    /// Whether the installation can be tested now.
    package static func check(
        _ request: TestRequest,
        _ installation: Installation?,
        by caller: Caller
    ) throws(RequestProblem) {
        guard let installation, installation.userID == caller.session.userID else {
            throw .notRegistered
        }
        guard installation.revision == request.expectedRevision else { throw .staleRevision }
        guard installation.preferences.enabled, let registration = installation.registration,
            registration.sessionID == caller.session.id, registration.doubt == nil
        else { throw .notRegistered }
    }
}

/// What is told about a test.
package struct TestOutcome: Hashable, Sendable {
    /// `pending` or one of the four relay outcomes.
    package let outcome: String
    package let reason: String

    package init(outcome: String, reason: String) {
        self.outcome = outcome
        self.reason = reason
    }

    /// On its way, as far as is known.
    package static let queued = Self(outcome: "pending", reason: "Queued")

    /// `receipt` is Delivery's, nil when it has no row.
    package init(
        _ test: TestNotification,
        receipt: ReceiptQueryAnswer.Receipt?,
        now: UnixSeconds
    ) {
        if let receipt {
            self.init(
                outcome: receipt.state.rawValue,
                reason: receipt.reason ?? Self.word(for: receipt.state)
            )
        } else if case .refused(let reason) = test.progress {
            self.init(outcome: "permanent", reason: reason)
        } else if now < test.expiresAt {
            self = .queued
        } else {
            self.init(outcome: "expired", reason: "Expired")
        }
    }

    /// The reason of a row that has none of its own.
    private static func word(for state: ReceiptState) -> String {
        switch state {
        case .accepted: "Accepted"
        case .expired: "Expired"
        case .pending, .retryable, .permanent: "Queued"
        }
    }
}
