import Contracts

/// What was published for whom, against what the phones showed.
struct DemoLedger: Sendable {
    struct Event: Sendable {
        var id: EventID
        var publishedAt: UnixMilliseconds
        /// Names of the phones that are to show it, once each.
        var phones: Set<String>
        /// Published while the Relay was away, so its time says nothing about speed.
        var isHeldBack: Bool
    }

    struct Banner: Sendable {
        var phone: String
        /// Nil for the generic text.
        var eventID: EventID?
        var at: UnixMilliseconds
    }

    struct Result: Hashable, Sendable {
        var events = 0
        var shown = 0
        /// Banners that should have come and did not.
        var lost = 0
        /// Banners beyond the first of an event on a phone.
        var duplicated = 0
        /// Banners of no event, without content, or on a phone they were not for.
        var unexpected = 0

        var isPerfect: Bool { lost == 0 && duplicated == 0 && unexpected == 0 }

        /// The last line of the demo.
        var line: String {
            "demo: \(events) events, \(shown) notifications shown, \(lost) lost, "
                + "\(duplicated) duplicated"
        }
    }

    var events: [Event] = []
    var banners: [Banner] = []

    var result: Result {
        var result = Result(events: events.count, shown: banners.count)
        for event in events {
            for phone in event.phones {
                let count = banners.count { $0.phone == phone && $0.eventID == event.id }
                if count == 0 { result.lost += 1 }
                result.duplicated += max(0, count - 1)
            }
        }
        result.unexpected = banners.count { banner in
            !events.contains { $0.id == banner.eventID && $0.phones.contains(banner.phone) }
        }
        return result
    }

    /// Milliseconds from publishing to each banner, sorted; only of events that nothing held back.
    var delays: [Int64] {
        events.filter { !$0.isHeldBack }.flatMap { event in
            banners.filter { $0.eventID == event.id }
                .map { $0.at.milliseconds - event.publishedAt.milliseconds }
        }.sorted()
    }
}
