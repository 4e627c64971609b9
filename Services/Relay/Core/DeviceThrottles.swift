import Contracts

/// Devices of which APNs said TooManyRequests: nothing goes to one for a while, then one message at
/// a time, until it has been calm for long enough.
///
/// The wait doubles with every further refusal. In bounded memory: when it is full, the device that
/// is closest to being forgotten is. Instants are milliseconds of a clock that only moves forward.
package struct DeviceThrottles: Sendable {
    private struct Entry: Sendable {
        var wait: Int64
        var until: Int64
        /// Forgotten from here on.
        var calmAt: Int64
        var isUnderWay = false
    }

    package static let baseMilliseconds: Int64 = 5_000
    package static let capMilliseconds: Int64 = 900_000
    /// A device stays in single file at least this long after its wait.
    private static let calmMilliseconds: Int64 = 60_000
    /// While one message is under way the next may ask again after this long.
    private static let lookAgainMilliseconds: Int64 = 1_000

    package let capacity: Int
    private var entries: [DeviceToken: Entry] = [:]

    package init(capacity: Int = 1_024) { self.capacity = capacity }

    /// Devices that are remembered.
    package var count: Int { entries.count }

    /// Whether a message for the device has to be reported with ``began(_:)`` and ``ended(_:)``.
    package func isWatched(_ device: DeviceToken) -> Bool {
        !entries.isEmpty && entries[device] != nil
    }

    /// How long a message for the device has to wait; nil when it may go now.
    package mutating func wait(for device: DeviceToken, at now: Int64) -> Int64? {
        guard !entries.isEmpty, let entry = entries[device] else { return nil }
        if now < entry.until { return entry.until - now }
        if entry.isUnderWay { return Self.lookAgainMilliseconds }
        if now >= entry.calmAt { entries[device] = nil }
        return nil
    }

    package mutating func began(_ device: DeviceToken) { entries[device]?.isUnderWay = true }

    package mutating func ended(_ device: DeviceToken) { entries[device]?.isUnderWay = false }

    /// APNs refused a message for the device; returns the wait, at least what APNs stated.
    package mutating func refused(
        _ device: DeviceToken,
        statedMilliseconds stated: Int64?,
        at now: Int64
    ) -> Int64 {
        if let entry = entries[device], now < entry.until {
            // It was under way when the first was refused and says nothing new.
            return entry.until - now
        }
        let doubled = entries[device].map { $0.wait * 2 } ?? Self.baseMilliseconds
        let wait = min(Self.capMilliseconds, max(doubled, stated ?? 0))
        if entries[device] == nil, entries.count >= capacity { makeRoom(at: now) }
        entries[device] = Entry(
            wait: wait,
            until: now + wait,
            calmAt: now + wait + max(wait, Self.calmMilliseconds)
        )
        return wait
    }

    private mutating func makeRoom(at now: Int64) {
        entries = entries.filter { $0.value.calmAt > now || $0.value.isUnderWay }
        guard entries.count >= capacity else { return }
        if let first = entries.min(by: { $0.value.calmAt < $1.value.calmAt })?.key {
            entries[first] = nil
        }
    }
}
