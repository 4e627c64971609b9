import Synchronization

/// A whole number that goes up and down; safe and cheap from any thread.
package final class Gauge: Sendable {
    private let number = Atomic<Int64>(0)

    package init() {}

    /// Puts it at a value.
    package func set(_ value: Int64) {
        number.store(value, ordering: .relaxed)
    }

    /// Adds to it, or takes away from it.
    package func add(_ difference: Int64) {
        number.wrappingAdd(difference, ordering: .relaxed)
    }

    /// What it stands at.
    package var value: Int64 {
        number.load(ordering: .relaxed)
    }
}
