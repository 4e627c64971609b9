import Contracts
import EventIngestCore
import EventIngestService
import FoundationEssentials
import TestKit
import Testing

/// What one property says about one case: which events it publishes, and what has to come of each.
protocol PropertyCase {
    /// Makes the case of a number; names in its events hold the number, so that cases share a store.
    init(_ number: Int, _ random: inout SplitMix, _ policy: PropertyPolicy)

    /// The next event to publish; nil when the case is over.
    mutating func next(_ random: inout SplitMix, now: UnixMilliseconds) -> JSONValue?

    /// Takes the answer to the event that ``next(_:now:)`` gave, in the order of the answers.
    mutating func answered(_ admission: Admission, _ policy: PropertyPolicy, now: UnixMilliseconds)

    /// Whether the case takes this event for one of its own; it notes that it was handed out.
    mutating func handed(_ event: EventAdmitted, isEnded: (EventID) -> Bool) -> Bool

    /// Unresolved events were decided about again.
    mutating func resolved(_ policy: PropertyPolicy, now: UnixMilliseconds)

    /// What has had its time was ended.
    mutating func expired(now: UnixMilliseconds)

    /// Every event of its own that was admitted.
    var admitted: Set<EventID> { get }

    /// Checks what is left when everything has ended.
    func check(_ world: StoreWorld) async throws
}

extension PropertyCase {
    mutating func resolved(_: PropertyPolicy, now _: UnixMilliseconds) {}
    mutating func expired(now _: UnixMilliseconds) {}
}

/// What decides besides the events: whether the data of the time zone can be read.
final class PropertyPolicy: Sendable {
    let isZoneReadable = Observed(true)

    var rulings: PolicyRulings {
        PolicyRulings { [isZoneReadable] _, _ in isZoneReadable.value ? 0 : nil }
    }
}

/// One run of a property: on which store, from which seed, and with how many cases.
struct PropertyPlan: Sendable, CustomTestStringConvertible {
    let factory: StoreFactory
    let seed: UInt64
    let count: Int

    var testDescription: String { "\(count) on \(factory.testDescription) from \(seed)" }

    /// 10,000 cases on SQLite and some on PostgreSQL, whose transactions take far longer.
    static let all =
        (0..<20).map { Self(factory: .sqlite, seed: $0, count: 500) }
        + [Self(factory: .postgreSQL, seed: 20, count: 40)]
}

/// Runs many cases on one store in a random order, with duplicates, crashes, restarts, jumps of the
/// clock, watermarks, hand-offs, reports and upkeep between any two steps.
struct PropertyRun<Case: PropertyCase> {
    /// Cases that are open at the same time.
    static var width: Int { 60 }

    let world: StoreWorld
    let policy: PropertyPolicy
    /// Jumps of the clock, in milliseconds.
    let jumps: [Int]
    var random: SplitMix
    var cases: [Case] = []
    var waiting: ArraySlice<Int>
    var active: [Int] = []
    var watermark: Int64 = 1
    /// Admitted events by when they end; those that have ended are taken out.
    var open: [EventID: UnixSeconds] = [:]
    var out: [EventAdmitted] = []
    /// Cases that had an unresolved event.
    var undecided: Set<Int> = []
    /// The case of each event.
    var owners: [EventID: Int] = [:]

    init(_ world: StoreWorld, _ policy: PropertyPolicy, seed: UInt64, count: Int, jumps: [Int]) {
        self.world = world
        self.policy = policy
        self.jumps = jumps
        random = SplitMix(state: seed)
        for number in 0..<count { cases.append(Case(number, &random, policy)) }
        waiting = Array(cases.indices)[...]
    }

    /// Opens a store, runs the cases to their end and checks them.
    static func run(
        _ plan: PropertyPlan,
        jumps: [Int],
        items: [PolicyItem] = []
    ) async throws {
        let policy = PropertyPolicy()
        let limits = EventStoreLimits(openEvents: 1_000_000)
        try await StoreWorld.with(plan.factory, limits: limits, rulings: policy.rulings) { world in
            if !items.isEmpty {
                _ = try await world.store.change(
                    PolicyChange(by: "tester", put: items),
                    by: "tester"
                )
            }
            var run = Self(world, policy, seed: plan.seed, count: plan.count, jumps: jumps)
            while true {
                run.fill()
                if run.active.isEmpty { break }
                try await run.step()
            }
            try await run.drain()
            for one in run.cases { try await one.check(world) }
        }
    }

    private mutating func fill() {
        while active.count < Self.width, let next = waiting.popFirst() { active.append(next) }
    }

    private mutating func step() async throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<66: try await publish()
        case 66..<68: try await world.crash()
        case 68: try await world.reopen()
        case 69..<74:
            watermark += 1
            try await world.settle(watermark)
        case 74..<80: try await claim(limit: Int.random(in: 1...8, using: &random))
        case 80..<86: try await report()
        case 86..<88: policy.isZoneReadable.update { $0.toggle() }
        case 88..<92: try await resolve()
        case 92..<95: try await expire()
        case 95: _ = try await world.store.purge(limit: 1000)
        default:
            world.time.advance(by: .milliseconds(jumps.randomElement(using: &random) ?? 1))
        }
    }

    private mutating func publish() async throws {
        var numbers: [Int] = []
        var candidates: [EventCandidate] = []
        let now = world.time.wall
        for _ in 0..<Int.random(in: 1...24, using: &random) {
            guard let place = active.indices.randomElement(using: &random) else { break }
            let number = active[place]
            guard let event = cases[number].next(&random, now: now) else {
                // One of its events may still be in this batch; it is answered all the same.
                active.remove(at: place)
                continue
            }
            numbers.append(number)
            candidates.append(try Self.candidate(event))
        }
        let known: Int64? = Bool.random(using: &random) ? watermark : nil
        let admitted = try await world.store.admit(
            candidates,
            watermark: known,
            handingOut: Int.random(in: 0...40, using: &random)
        )
        #expect(admitted.admissions.count == candidates.count)
        for (number, admission) in zip(numbers, admitted.admissions) {
            cases[number].answered(admission, policy, now: now)
            if case .record(let record) = admission,
                [.admitted, .unresolved].contains(record.verdict)
            {
                open[record.notification.eventID] = record.lifetime.expiresAt
                owners[record.notification.eventID] = number
                if record.verdict == .unresolved { undecided.insert(number) }
            }
        }
        for order in admitted.orders { hand(order.event) }
        if Int.random(in: 0..<24, using: &random) == 0 { try await resend(candidates) }
    }

    /// The process dies between the commit and its answers, and the producer sends all of it again.
    private mutating func resend(_ candidates: [EventCandidate]) async throws {
        try await world.crash()
        for admission in try await world.store.admit(candidates) {
            guard case .record = admission else { continue }
            Issue.record("what was committed is taken for new")
        }
    }

    private mutating func claim(limit: Int) async throws {
        if Int.random(in: 0..<6, using: &random) == 0 {
            // The process dies when the hand-off is committed and nobody has heard of it.
            _ = try await world.claim(limit)
            try await world.crash()
            return
        }
        for event in try await world.claim(limit) { hand(event) }
    }

    private mutating func hand(_ event: EventAdmitted) {
        let isEnded = { [open] (id: EventID) in open[id] == nil }
        #expect(!isEnded(event.eventID), "\(event.eventID) was handed out after its end")
        guard let owner = owners[event.eventID], cases[owner].handed(event, isEnded: isEnded) else {
            Issue.record("\(event.eventID) was handed out and nobody published it")
            return
        }
        out.append(event)
    }

    /// A Fanout finishes one event, gives it back, or stays silent.
    private mutating func report() async throws {
        guard let index = out.indices.randomElement(using: &random) else { return }
        let event = out.remove(at: index)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return
        case 1: try await world.report(event.eventID, .back, written: 0, delay: 100)
        default:
            let recorded = try await world.report(event.eventID, .done)
            if recorded.isCompletion { open[event.eventID] = nil }
            // Its time may have ended first, which is an end as well.
            if recorded.reception == .ended { open[event.eventID] = nil }
        }
    }

    private mutating func expire() async throws {
        let now = world.time.wall
        _ = try await world.store.expireDue(limit: 10_000)
        open = open.filter { $0.value.start > now }
        for index in undecided { cases[index].expired(now: now) }
    }

    private mutating func resolve() async throws {
        let now = world.time.wall
        _ = try await world.store.resolve(limit: 100_000)
        for index in undecided { cases[index].resolved(policy, now: now) }
    }

    /// Lets what is left be decided, handed out and finished.
    private mutating func drain() async throws {
        policy.isZoneReadable.update { $0 = true }
        for _ in 0..<100 where try await world.store.backlog().open > 0 {
            try await resolve()
            try await world.settle(watermark)
            try await claim(limit: 1000)
            for event in out {
                let recorded = try await world.report(event.eventID, .done)
                if recorded.reception != .stale { open[event.eventID] = nil }
            }
            out = []
            world.time.advance(by: .seconds(16))
            try await expire()
        }
        #expect(try await world.store.backlog().open == 0)
    }

    private static func candidate(_ event: JSONValue) throws -> EventCandidate {
        try EventCandidate(
            event,
            identity: EventIdentity(sha256: EventPublishing.hash),
            decodeJSON: EventSamples.decodeJSON
        )
    }
}
