import Synchronization

/// A number that only grows; safe and cheap from any thread.
package final class Counter: Sendable {
    private let count = Atomic<UInt64>(0)

    package init() {}

    /// Adds to it.
    package func add(_ more: UInt64 = 1) {
        count.wrappingAdd(more, ordering: .relaxed)
    }

    /// What it stands at.
    package var value: UInt64 {
        count.load(ordering: .relaxed)
    }
}
