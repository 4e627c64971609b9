import Contracts
import EventIngestCore
import EventIngestService
import TestKit
import Testing

/// 10,000 cases of events that are published again: under the same source and id with the same and
/// with other content, under others with the same content, and long after.
@Suite struct DedupePropertyTests {
    @Test(arguments: PropertyPlan.all)
    func recordsEachHappeningOnce(_ plan: PropertyPlan) async throws {
        let day = 86_400_000
        try await PropertyRun<DedupeCase>.run(
            plan,
            jumps: [1, 1000, 60_000, 1_000_000, 2 * day]
        )
    }
}

private struct DedupeCase: PropertyCase {
    /// A source and id, and which of two happenings stands under it.
    struct Name: Hashable {
        var source: Int
        var id: Int
    }

    let number: Int
    var left: Int
    var asked: [(name: Name, content: Int)] = []
    var known: [Name: (content: Int, at: UnixMilliseconds)] = [:]
    var recorded: Set<Int> = []
    var admitted: Set<EventID> = []

    init(_ number: Int, _ random: inout SplitMix, _: PropertyPolicy) {
        self.number = number
        left = Int.random(in: 2...6, using: &random)
    }

    mutating func next(_ random: inout SplitMix, now _: UnixMilliseconds) -> JSONValue? {
        guard left > 0 else { return nil }
        left -= 1
        let name = Name(
            source: Int.random(in: 0..<2, using: &random),
            id: Int.random(in: 0..<2, using: &random)
        )
        let content = Int.random(in: 0..<2, using: &random)
        asked.append((name, content))
        let trace = Int.random(in: 10..<99, using: &random)
        return EventSamples.alert(
            id: "\(number) \(name.id)",
            rule: "\(number) \(content)",
            changes: [
                "source": .string("/monitor/\(name.source)"),
                // Another trace is the same content.
                "traceparent": .string(
                    "00-0af7651916cd43dd8448eb211c8031\(trace)-b7ad6b7169203331-01"
                ),
            ]
        )
    }

    mutating func answered(
        _ admission: Admission,
        _: PropertyPolicy,
        now: UnixMilliseconds
    ) {
        let (name, content) = asked.removeFirst()
        let status = admission.result.status
        if let old = known[name] {
            if case .record(let record) = admission {
                // Source and id may be forgotten after 7 days; the open cycle is not.
                let age = now.milliseconds - old.at.milliseconds
                #expect(age > 604_800_000, "forgotten after \(age) ms")
                #expect(record.verdict == (recorded.contains(content) ? .duplicate : .admitted))
            } else {
                #expect(status == (old.content == content ? .duplicate : .conflict))
                return
            }
        } else {
            #expect(status == (recorded.contains(content) ? .duplicate : .accepted))
        }
        known[name] = (content, now)
        recorded.insert(content)
        if case .record(let record) = admission, record.verdict == .admitted {
            let isNew = admitted.insert(record.notification.eventID).inserted
            #expect(isNew, "admitted twice")
        }
    }

    mutating func handed(_ event: EventAdmitted, isEnded _: (EventID) -> Bool) -> Bool {
        admitted.contains(event.eventID)
    }

    func check(_: StoreWorld) async throws { #expect(admitted.count == recorded.count) }
}
