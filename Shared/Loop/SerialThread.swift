/// A thread of its own for blocking calls, one after another: SQLite, argon2id, file systems.
package final class SerialThread: SerialExecutor {
    private let loop: LoopExecutor

    /// Starts the thread; fails only when the system has no room for another one.
    package init(name: String) throws(SystemCallError) {
        loop = try LoopExecutor(name: name, backend: ConditionBackend())
    }

    /// Whether the caller is on this thread.
    package var isCurrent: Bool {
        loop.isCurrent
    }

    /// Traps unless the caller is on this thread.
    package func preconditionCurrent(file: StaticString = #fileID, line: UInt = #line) {
        loop.preconditionCurrent(file: file, line: line)
    }

    package func checkIsolated() {
        loop.preconditionCurrent()
    }

    package func isIsolatingCurrentContext() -> Bool? {
        loop.isCurrent
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        loop.enqueue(job)
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    /// Runs the closure on the thread and waits for it; cancellation does not interrupt it.
    package func run<Value>(
        _ body: @escaping @Sendable () throws -> sending Value
    ) async throws -> sending Value {
        try await withUnsafeThrowingContinuation { continuation in
            loop.execute {
                do {
                    continuation.resume(returning: try body())
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }

    /// Runs the closure on the thread without waiting for it.
    package func execute(_ body: @escaping @Sendable () -> Void) {
        loop.execute(body)
    }

    /// Finishes what is queued, ends the thread and waits for its end; may be called twice.
    package func stop() {
        loop.stop()
    }
}
