/// Shares a number of claims among the events that have due rows, in turn order.
///
/// Events that want less than their share leave the rest to the others, so that a large audience
/// neither starves others nor is slowed when it is alone.
package struct FairTurns: Sendable {
    package private(set) var remaining: Int
    private var eventsLeft: Int

    package init(limit: Int, events: Int) {
        remaining = limit
        eventsLeft = events
    }

    /// How many rows the next event may take in this round; 0 when nothing remains.
    package func share() -> Int {
        guard eventsLeft > 0 else { return 0 }
        return min(remaining, (remaining + eventsLeft - 1) / eventsLeft)
    }

    /// The shares of the next events in a round in which each takes all of its own.
    package func shares(events: Int) -> [Int] {
        var turns = FairTurns(limit: remaining, events: events)
        return (0..<events).map { _ in
            let share = turns.share()
            turns.took(share)
            return share
        }
    }

    /// Records what the event took.
    package mutating func took(_ rows: Int) {
        remaining = max(0, remaining - rows)
        eventsLeft = max(0, eventsLeft - 1)
    }

    /// Begins another round with the events that had more than their share.
    package mutating func beginRound(events: Int) { eventsLeft = events }
}
