import Contracts
import EventIngestCore

/// What EventIngest keeps, in its own terms.
///
/// Every call is one transaction and returns after it is durable. The store's clock decides about
/// beginnings, turns and ends. Errors are ``StorageError`` or those of the driver; a call that threw
/// may be repeated.
package protocol EventStore: Sendable {
    /// Decides about candidates in their order and records them; all of them or none.
    ///
    /// `watermark` is Registration's counter, asked for after they came: what becomes a notification
    /// is due at once with it, and in the same transaction events are handed out as by
    /// ``claimDue(limit:)`` with `handingOut`. Without it they wait for ``settle(watermark:upTo:)``.
    func admit(
        _ candidates: [EventCandidate],
        watermark: Int64?,
        handingOut limit: Int
    ) async throws -> AdmittedEvents

    /// Marks the events that are committed now and have no watermark; nil when there are none.
    func awaitingWatermark() async throws -> WatermarkMark?

    /// Gives a watermark to the marked events that still have none, and makes them due.
    @discardableResult
    func settle(watermark: Int64, upTo mark: WatermarkMark) async throws -> Int

    /// Hands out events whose turn has come, as long as fewer than `limit` are out; one that follows
    /// another waits for its end.
    func claimDue(limit: Int) async throws -> DueEvents

    /// Takes a report if it begins at the stored cursor; erases the content of a completed event.
    func record(_ progress: FanoutProgress) async throws -> RecordedProgress

    /// Ends events whose time has ended and erases their content; returns how many, at most `limit`.
    func expireDue(limit: Int) async throws -> Int

    /// Forgets what was recorded longer ago than the store keeps it; returns how many rows it
    /// deleted, at most `limit` of each kind.
    func purge(limit: Int) async throws -> Int

    /// Events for operators, newest first.
    func events(_ query: EventQuery) async throws -> [EventQueryAnswer.Event]

    /// Everything that is still known about one event.
    func explain(_ query: EventExplain) async throws -> EventExplainAnswer

    /// Writes something and takes it back, to learn whether the store takes writes.
    func probe() async throws

    /// Makes events due that an earlier life of this process handed out; returns how many.
    @discardableResult
    func recover() async throws -> Int

    /// How many events are open, and since when the oldest of them.
    func backlog() async throws -> EventBacklog

    /// Decides again about unresolved detections, in the order in which they happened; one that
    /// stays unresolved holds the younger ones of its dedupe key and no others.
    func resolve(limit: Int) async throws -> ResolvedEvents

    /// Puts policy items in force and removes others, all of them or none, and records who did.
    /// An item that is as it was before changes nothing.
    func change(_ change: PolicyChange, by person: String) async throws -> PolicyChangeAnswer

    /// The policy items of a kind, by id.
    func policy(_ query: PolicyQuery) async throws -> PolicyQueryAnswer

    /// Every integrator in force.
    func integrators() async throws -> IntegratorsInForce

    /// The changes of the policy, newest first.
    func audit(_ query: AuditQuery) async throws -> AuditQueryAnswer

    /// Finishes what was begun and lets go of the file.
    func close() async
}

extension EventStore {
    /// Admits candidates whose watermark is not known yet.
    package func admit(_ candidates: [EventCandidate]) async throws -> [Admission] {
        try await admit(candidates, watermark: nil, handingOut: 0).admissions
    }
}

/// What became of candidates, and what was handed out with them.
package struct AdmittedEvents: Hashable, Sendable {
    /// One for each candidate, in their order.
    package var admissions: [Admission]
    package var orders: [HandoffOrder]

    package init(admissions: [Admission], orders: [HandoffOrder] = []) {
        self.admissions = admissions
        self.orders = orders
    }
}

/// Bounds of an event store.
package struct EventStoreLimits: Hashable, Sendable {
    /// Events that may wait for the end of their fan-out; one more is asked to come again.
    package var openEvents: Int
    /// How long source, id, content hash and verdict are kept, in seconds.
    package var retentionSeconds: Int64

    package init(openEvents: Int = 10_000, retentionSeconds: Int64 = 7 * 86_400) {
        self.openEvents = openEvents
        self.retentionSeconds = retentionSeconds
    }
}

/// The integrators at one state of the policy.
package struct IntegratorsInForce: Hashable, Sendable {
    /// Grows with every change of the policy.
    package var state: Int64
    package var integrators: [Integrator]

    package init(state: Int64, integrators: [Integrator]) {
        self.state = state
        self.integrators = integrators
    }
}

/// How many unresolved events were decided about.
package struct ResolvedEvents: Hashable, Sendable {
    package var admitted = 0
    package var suppressed = 0

    package init() {}
}

/// What decides beside the policy that operators keep in the store.
package struct PolicyRulings: Sendable {
    package var unknownRules: UnknownRules
    package var zones: ZoneOffset

    package init(
        unknownRules: UnknownRules = .admit,
        zones: @escaping ZoneOffset = { _, _ in nil }
    ) {
        self.unknownRules = unknownRules
        self.zones = zones
    }
}

/// Stands for all events that were committed when it was taken.
package struct WatermarkMark: Hashable, Sendable {
    package var sequence: Int64

    package init(sequence: Int64) { self.sequence = sequence }
}

/// An event to hand to a Fanout.
package struct HandoffOrder: Hashable, Sendable {
    package var event: EventAdmitted
    package var traceparent: String?

    package init(event: EventAdmitted, traceparent: String?) {
        self.event = event
        self.traceparent = traceparent
    }
}

/// What is due, and when something will be.
package struct DueEvents: Hashable, Sendable {
    package var orders: [HandoffOrder]
    /// The next turn of any event, by the store's clock.
    package var next: UnixMilliseconds?
    /// The store's clock when this was read.
    package var now: UnixMilliseconds

    package init(orders: [HandoffOrder], next: UnixMilliseconds?, now: UnixMilliseconds) {
        self.orders = orders
        self.next = next
        self.now = now
    }
}

/// What became of a report.
package struct RecordedProgress: Hashable, Sendable {
    package var answer: FanoutProgressAnswer
    package var reception: Handoff.Reception
    /// Whether this report completed the event.
    package var isCompletion: Bool

    package init(
        answer: FanoutProgressAnswer,
        reception: Handoff.Reception,
        isCompletion: Bool
    ) {
        self.answer = answer
        self.reception = reception
        self.isCompletion = isCompletion
    }
}

/// How much waits.
package struct EventBacklog: Hashable, Sendable {
    package var open: Int
    package var oldest: UnixSeconds?

    package init(open: Int, oldest: UnixSeconds?) {
        self.open = open
        self.oldest = oldest
    }
}
