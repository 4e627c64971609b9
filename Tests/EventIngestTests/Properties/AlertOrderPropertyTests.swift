import Contracts
import EventIngestCore
import EventIngestService
import TestKit
import Testing

/// 10,000 pairs of rule and server whose cycles come in any order and more than once, some of them
/// under a rule that repeats and some on a server that is under maintenance now and then.
@Suite struct AlertOrderPropertyTests {
    @Test(arguments: PropertyPlan.all)
    func handsARecoveryOutAfterItsTrigger(_ plan: PropertyPlan) async throws {
        let rules = (0..<plan.count).filter(AlertCase.isRepeating).map { number in
            AlertRule(
                id: "\(number)",
                name: "Rule \(number)",
                repeatSeconds: AlertRule.shortestRepeatSeconds
            )
        }
        try await PropertyRun<AlertCase>.run(
            plan,
            jumps: [1, 100, 5000, 16_000, 300_000, 700_000],
            items: rules.map { PolicyItem($0) } + AlertCase.windows.map { PolicyItem($0) }
        )
    }
}

private struct AlertCase: PropertyCase {
    struct Cycle {
        /// Its triggers that notified.
        var triggers: [EventID] = []
        var notifiedAt: UnixMilliseconds?
        var hasTrigger = false
        /// The seconds of the repeats that were recorded.
        var repeats: Set<Int64> = []
        var isResolved = false
    }

    struct Part {
        var cycle: Int
        var isTrigger: Bool
        var copy: Int
    }

    /// Every second five minutes of the covered server are a window.
    static let windowSeconds: Int64 = 300
    static let windows = (0..<40).map { number in
        let from = StoreWorld.start.second.seconds + (2 * Int64(number) + 1) * windowSeconds
        return MaintenanceWindow(
            id: "window \(number)",
            name: "Window",
            coverage: Coverage(.include, ["covered"]),
            once: .init(from: UnixSeconds(from), until: UnixSeconds(from + windowSeconds))
        )
    }

    static func isRepeating(_ number: Int) -> Bool { number % 3 == 1 }

    let number: Int
    let isCovered: Bool
    var parts: [Part] = []
    var asked: [Part] = []
    var cycles: [Cycle]
    var admitted: Set<EventID> = []
    /// The triggers that each admitted recovery waits for.
    var after: [EventID: [EventID]] = [:]
    var handedOut: Set<EventID> = []

    init(_ number: Int, _ random: inout SplitMix, _: PropertyPolicy) {
        self.number = number
        isCovered = number.isMultiple(of: 2)
        cycles = Array(repeating: Cycle(), count: Int.random(in: 1...2, using: &random))
        for cycle in cycles.indices {
            for isTrigger in [true, false] {
                let copies = isTrigger && Self.isRepeating(number) ? 5 : 2
                for copy in 0..<Int.random(in: 0...copies, using: &random) {
                    parts.append(Part(cycle: cycle, isTrigger: isTrigger, copy: copy))
                }
            }
        }
        // Mostly the order of the happenings, sometimes any.
        if Int.random(in: 0..<3, using: &random) == 0 { parts.shuffle(using: &random) }
    }

    mutating func next(_ random: inout SplitMix, now _: UnixMilliseconds) -> JSONValue? {
        guard !parts.isEmpty else { return nil }
        let part = parts.removeFirst()
        asked.append(part)
        return EventSamples.alert(
            part.isTrigger ? .alertTriggered : .alertResolved,
            id: "\(number) \(part.cycle) \(part.isTrigger) \(part.copy)",
            rule: "\(number)",
            server: isCovered ? "covered" : "other",
            startedAt: "2026-05-04T03:02:0\(part.cycle)Z"
        )
    }

    mutating func answered(
        _ admission: Admission,
        _: PropertyPolicy,
        now: UnixMilliseconds
    ) {
        let part = asked.removeFirst()
        guard case .record(let record) = admission else {
            Issue.record("a new id was answered \(admission.result.status)")
            return
        }
        let id = record.notification.eventID
        var cycle = cycles[part.cycle]
        defer { cycles[part.cycle] = cycle }
        let expected = part.isTrigger ? trigger(&cycle, now) : recovery(&cycle)
        guard expected == "admitted" else {
            let told = record.verdict == .duplicate ? "duplicate" : record.reason
            #expect(told == expected)
            return
        }
        #expect(record.verdict == .admitted)
        let isNew = admitted.insert(id).inserted
        #expect(isNew, "admitted twice")
        if part.isTrigger {
            cycle.triggers.append(id)
        } else {
            after[id] = cycle.triggers
        }
    }

    /// What has to come of a trigger.
    private func trigger(_ cycle: inout Cycle, _ now: UnixMilliseconds) -> String {
        let distance = AlertRule.shortestRepeatSeconds * 1000
        if cycle.hasTrigger {
            let isNew = cycle.repeats.insert(now.second.seconds).inserted
            let isFar = cycle.notifiedAt.map { now >= $0.adding(milliseconds: distance) } ?? true
            guard Self.isRepeating(number), !cycle.isResolved, isNew, isFar else {
                if isNew { cycle.repeats.remove(now.second.seconds) }
                return "duplicate"
            }
        } else if cycle.isResolved {
            cycle.hasTrigger = true
            return "already_resolved"
        }
        cycle.hasTrigger = true
        let passed = (now.second.seconds - StoreWorld.start.second.seconds) / Self.windowSeconds
        if isCovered, passed % 2 == 1, passed / 2 < Self.windows.count {
            return "maintenance:window \(passed / 2)"
        }
        cycle.notifiedAt = now
        return "admitted"
    }

    /// What has to come of a recovery, inside a window as outside.
    private func recovery(_ cycle: inout Cycle) -> String {
        if cycle.isResolved { return "duplicate" }
        cycle.isResolved = true
        return cycle.triggers.isEmpty ? "no_trigger" : "admitted"
    }

    mutating func handed(_ event: EventAdmitted, isEnded: (EventID) -> Bool) -> Bool {
        guard admitted.contains(event.eventID) else { return false }
        handedOut.insert(event.eventID)
        for trigger in after[event.eventID] ?? [] {
            #expect(isEnded(trigger), "a recovery was handed out before the end of its trigger")
        }
        return true
    }

    func check(_ world: StoreWorld) async throws {
        #expect(asked.isEmpty)
        // A trigger that was fanned out was handed out; one that never was has expired.
        for id in admitted where !handedOut.contains(id) {
            #expect(try await world.event(id)?.state == .expired)
        }
    }
}
