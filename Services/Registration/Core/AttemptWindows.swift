/// Whose attempts are counted: a hash, so that neither names nor addresses are kept.
package struct AttemptKey: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    /// Takes the first 16 bytes of a hash; fewer are filled up with zeros.
    package init(hash bytes: [UInt8]) {
        func word(_ start: Int) -> UInt64 {
            (start..<start + 8).reduce(0) { word, index in
                word << 8 | UInt64(index < bytes.count ? bytes[index] : 0)
            }
        }
        high = word(0)
        low = word(8)
    }
}

/// Counts attempts by key in windows that begin with the first one, in bounded memory.
package struct AttemptWindows: Sendable {
    private struct Window {
        let end: Int64
        var attempts: Int
    }

    private let attempts: Int
    private let milliseconds: Int64
    private let capacity: Int
    private var windows: [AttemptKey: Window] = [:]

    /// So many attempts of a key in a window; at most `capacity` keys are kept.
    package init(attempts: Int, milliseconds: Int64, capacity: Int) {
        self.attempts = attempts
        self.milliseconds = milliseconds
        self.capacity = max(1, capacity)
    }

    /// How many keys are kept now.
    package var count: Int { windows.count }

    /// Milliseconds until another attempt of this key is taken; nil when one is taken now.
    package func wait(_ key: AttemptKey, now: Int64) -> Int64? {
        guard let window = windows[key], now < window.end, window.attempts >= attempts else {
            return nil
        }
        return window.end - now
    }

    package mutating func add(_ key: AttemptKey, now: Int64) {
        if var window = windows[key], now < window.end {
            window.attempts += 1
            windows[key] = window
            return
        }
        if windows[key] == nil, windows.count >= capacity { makeRoom(now: now) }
        windows[key] = Window(end: now + milliseconds, attempts: 1)
    }

    /// Takes an attempt back that turned out to be right.
    package mutating func takeBack(_ key: AttemptKey) {
        guard var window = windows[key] else { return }
        window.attempts -= 1
        windows[key] = window.attempts > 0 ? window : nil
    }

    /// Forgets what has ended; if nothing has, an eighth of the keys, those with the fewest attempts
    /// first: whoever floods us with new keys does not wash out those that are held back.
    private mutating func makeRoom(now: Int64) {
        windows = windows.filter { now < $0.value.end }
        guard windows.count >= capacity else { return }
        let order = windows.sorted { left, right in
            (left.value.attempts, left.value.end) < (right.value.attempts, right.value.end)
        }
        for (key, _) in order.prefix(max(1, capacity / 8)) { windows[key] = nil }
    }
}
