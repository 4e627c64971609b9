import Contracts
import EventIngestCore
import EventIngestService
import ServiceKit
import TestKit
import Testing

/// 10,000 pairs of dedupe keys whose detections come late, again and in any order, while the zone of
/// a window over one of them can be read now and then only.
@Suite struct DetectionPropertyTests {
    @Test(arguments: PropertyPlan.all)
    func admitsInTheOrderOfTheOriginals(_ plan: PropertyPlan) async throws {
        let rule = SecurityRule(
            id: "guess",
            name: "Guessed passwords",
            type: .bruteForce,
            dedupeWindowSeconds: DetectionCase.silence
        )
        // Never reached by the clock of the test; its zone has to be read to know that.
        let window = MaintenanceWindow(
            id: "weekly",
            name: "Weekly",
            coverage: Coverage(.include, [DetectionCase.servers[0]]),
            weekly: .init(
                zone: "Etc/Test",
                days: [.wednesday],
                from: try #require(WallTime("01:00")),
                until: try #require(WallTime("01:01"))
            )
        )
        try await PropertyRun<DetectionCase>.run(
            plan,
            jumps: [1, 100, 5000, 60_000, 400_000],
            items: [PolicyItem(rule), PolicyItem(window)]
        )
    }
}

private struct DetectionCase: PropertyCase {
    static let silence: Int64 = 600
    static let servers = ["shaky", "steady"]

    /// What the model knows of one dedupe key.
    struct Key {
        var lastAt: UnixMilliseconds?
        var lastAdmitted: UnixMilliseconds?
        var held: [(id: EventID, at: UnixMilliseconds, order: Int, expiresAt: UnixSeconds)] = []
    }

    struct Original {
        var key: Int
        /// How long ago it happened when it is published, in milliseconds.
        var age: Int64
        var event: JSONValue?
    }

    let number: Int
    var originals: [Original] = []
    var order: [Int] = []
    var asked: [Int] = []
    var keys = [Key(), Key()]
    var admitted: Set<EventID> = []
    /// State or reason of each recorded event.
    var states: [EventID: String] = [:]

    init(_ number: Int, _ random: inout SplitMix, _: PropertyPolicy) {
        self.number = number
        for key in 0..<2 {
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let age = Int64.random(in: 0...1_200_000, using: &random)
                originals.append(Original(key: key, age: age))
            }
        }
        order = Array(originals.indices)
        order.append(contentsOf: order.filter { _ in Int.random(in: 0..<4, using: &random) == 0 })
        order.shuffle(using: &random)
    }

    mutating func next(_: inout SplitMix, now: UnixMilliseconds) -> JSONValue? {
        guard !order.isEmpty else { return nil }
        let index = order.removeFirst()
        asked.append(index)
        if let event = originals[index].event { return event }
        let original = originals[index]
        let event = EventSamples.alert(
            .securityDetected,
            id: "\(number) \(index)",
            changes: [
                "time": .string(now.adding(milliseconds: -original.age).rfc3339),
                "data": .object([
                    "security_event_type": .string("ssh_brute_force"),
                    "security_event_id": .string("\(number) \(index)"),
                    "server_id": .string(Self.servers[original.key]),
                    "source_address": .string("2001:db8::\(String(number, radix: 16))"),
                    "failed_count": .integer(9),
                ]),
            ]
        )
        originals[index].event = event
        return event
    }

    mutating func answered(
        _ admission: Admission,
        _ policy: PropertyPolicy,
        now: UnixMilliseconds
    ) {
        let key = originals[asked.removeFirst()].key
        guard case .record(let record) = admission else {
            guard case .resent = admission else {
                Issue.record("answered \(admission.result.status)")
                return
            }
            return
        }
        let (id, at) = (record.notification.eventID, record.lifetime.occurredAt)
        let isUnreadable = key == 0 && !policy.isZoneReadable.value
        if !keys[key].held.isEmpty || isUnreadable {
            #expect(record.verdict == .unresolved)
            keys[key].held.append((id, at, states.count, record.lifetime.expiresAt))
            states[id] = "unresolved"
        } else {
            decide(key, id, at)
            let stored = record.verdict == .admitted ? "admitted" : record.reason
            #expect(stored == states[id])
        }
    }

    private mutating func decide(_ key: Int, _ id: EventID, _ at: UnixMilliseconds) {
        let last = keys[key].lastAt
        keys[key].lastAt = max(last ?? at, at)
        if let last, at < last.adding(milliseconds: Self.silence * 1000) {
            states[id] = "dedupe_window"
            return
        }
        if let before = keys[key].lastAdmitted { #expect(before < at, "not in original order") }
        keys[key].lastAdmitted = at
        states[id] = "admitted"
        admitted.insert(id)
    }

    mutating func resolved(_ policy: PropertyPolicy, now: UnixMilliseconds) {
        for key in keys.indices where key == 1 || policy.isZoneReadable.value {
            let due = keys[key].held.filter { $0.expiresAt.start > now }
                .sorted { ($0.at, $0.order) < ($1.at, $1.order) }
            keys[key].held.removeAll { $0.expiresAt.start > now }
            for event in due { decide(key, event.id, event.at) }
        }
    }

    mutating func expired(now: UnixMilliseconds) {
        for key in keys.indices {
            for event in keys[key].held where event.expiresAt.start <= now {
                states[event.id] = "time_ended"
            }
            keys[key].held.removeAll { $0.expiresAt.start <= now }
        }
    }

    mutating func handed(_ event: EventAdmitted, isEnded _: (EventID) -> Bool) -> Bool {
        admitted.contains(event.eventID)
    }

    func check(_ world: StoreWorld) async throws {
        for (id, state) in states {
            let event = try #require(try await world.event(id))
            switch state {
            case "admitted": #expect([.fannedOut, .expired].contains(event.state))
            case "time_ended": #expect(event.state == .expired)
            default:
                #expect(event.state == .suppressed)
                #expect(event.reason == state)
            }
        }
    }
}
