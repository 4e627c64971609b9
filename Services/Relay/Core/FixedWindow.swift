/// Counts per key in fixed windows, in bounded memory: when full of live keys a new key is refused
/// and none is evicted.
package struct FixedWindow<Key: Hashable & Sendable>: Sendable {
    private struct Entry: Sendable {
        var start: Int64
        var count: Int
    }

    package let limit: Int
    package let capacity: Int
    package let windowMilliseconds: Int64
    private var entries: [Key: Entry] = [:]
    private var sweptAt: Int64?

    package init(limit: Int, capacity: Int = 4096, windowMilliseconds: Int64 = 60_000) {
        self.limit = limit
        self.capacity = capacity
        self.windowMilliseconds = windowMilliseconds
    }

    /// Entries held, live and over ones alike.
    package var count: Int { entries.count }

    /// Counts one use of the key; false when its window is used up or there is no room for it.
    package mutating func admit(_ key: Key, nowMilliseconds now: Int64) -> Bool {
        if let entry = entries[key], isLive(entry, now) {
            guard entry.count < limit else { return false }
            entries[key]?.count += 1
            return true
        }
        guard limit > 0 else { return false }
        if entries[key] == nil, entries.count >= capacity {
            sweep(now)
            if entries.count >= capacity { return false }
        }
        entries[key] = Entry(start: now, count: 1)
        return true
    }

    private func isLive(_ entry: Entry, _ now: Int64) -> Bool {
        now >= entry.start && now - entry.start < windowMilliseconds
    }

    /// Drops windows that are over; at most once a second, so that a flood of keys costs little.
    private mutating func sweep(_ now: Int64) {
        if let sweptAt, now >= sweptAt, now - sweptAt < 1_000 { return }
        sweptAt = now
        entries = entries.filter { isLive($0.value, now) }
    }
}
