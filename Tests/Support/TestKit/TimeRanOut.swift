/// The time ran out before the operation was done.
package struct TimeRanOut: Error, CustomStringConvertible {
    package let limit: Duration

    package var description: String {
        "what the test waits for did not happen within \(limit)"
    }
}

/// Runs an operation and cancels it when it takes longer than the limit.
///
/// It is a limit for a signal that never comes, not a pause: the operation must end on cancellation.
package func within<Value: Sendable>(
    _ limit: Duration,
    _ operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask { try await operation() }
        group.addTask {
            try await Task.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        guard let first = try await group.next(), let value = first else {
            throw TimeRanOut(limit: limit)
        }
        return value
    }
}
