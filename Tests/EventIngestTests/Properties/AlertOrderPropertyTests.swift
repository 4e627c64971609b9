import Contracts
import EventIngestCore
import EventIngestService
import TestKit
import Testing

/// 10,000 pairs of rule and server whose cycles come in any order and more than once.
@Suite struct AlertOrderPropertyTests {
    @Test(arguments: [StoreFactory.sqlite], 0..<20)
    func handsARecoveryOutAfterItsTrigger(_ factory: StoreFactory, _ seed: UInt64) async throws {
        try await PropertyRun<AlertCase>.run(
            factory,
            seed: seed,
            count: 500,
            jumps: [1, 100, 5000, 16_000, 700_000]
        )
    }
}

private struct AlertCase: PropertyCase {
    struct Cycle {
        var trigger: EventID?
        var hasTrigger = false
        var isResolved = false
    }

    struct Part {
        var cycle: Int
        var isTrigger: Bool
        var copy: Int
    }

    let number: Int
    var parts: [Part] = []
    var asked: [Part] = []
    var cycles: [Cycle]
    var admitted: Set<EventID> = []
    /// The trigger that each admitted recovery waits for.
    var after: [EventID: EventID] = [:]
    var handedOut: Set<EventID> = []

    init(_ number: Int, _ random: inout SplitMix, _: PropertyPolicy) {
        self.number = number
        cycles = Array(repeating: Cycle(), count: Int.random(in: 1...2, using: &random))
        for cycle in cycles.indices {
            for isTrigger in [true, false] {
                for copy in 0..<Int.random(in: 0...2, using: &random) {
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
            startedAt: "2026-05-04T03:02:0\(part.cycle)Z"
        )
    }

    mutating func answered(
        _ admission: Admission,
        _: PropertyPolicy,
        now _: UnixMilliseconds
    ) {
        let part = asked.removeFirst()
        var cycle = cycles[part.cycle]
        defer { cycles[part.cycle] = cycle }
        guard case .record(let record) = admission else {
            Issue.record("a new id was answered \(admission.result.status)")
            return
        }
        let id = record.notification.eventID
        if part.isTrigger {
            if cycle.hasTrigger {
                #expect(record.verdict == .duplicate)
                return
            }
            cycle.hasTrigger = true
            if cycle.isResolved {
                #expect(record.reason == "already_resolved")
            } else {
                #expect(record.verdict == .admitted)
                cycle.trigger = id
            }
        } else {
            if cycle.isResolved {
                #expect(record.verdict == .duplicate)
                return
            }
            cycle.isResolved = true
            if let trigger = cycle.trigger {
                #expect(record.verdict == .admitted)
                after[id] = trigger
            } else {
                #expect(record.reason == "no_trigger")
            }
        }
        if record.verdict == .admitted { admitted.insert(id) }
    }

    mutating func handed(_ event: EventAdmitted, isEnded: (EventID) -> Bool) -> Bool {
        guard admitted.contains(event.eventID) else { return false }
        handedOut.insert(event.eventID)
        if let trigger = after[event.eventID] {
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
