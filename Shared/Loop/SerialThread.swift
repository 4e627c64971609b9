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
    package func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        // The result takes the way through a lock: ThreadSanitizer does not see the hand-over inside a
        // continuation that is resumed before its task has suspended, and would report a race.
        let outcome = Locked<Result<Value, any Error>?>(nil)
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            loop.execute {
                let result = Result { try body() }
                outcome.withLock { $0 = result }
                continuation.resume()
            }
        }
        guard let result = outcome.withLock({ $0 }) else {
            preconditionFailure("the continuation is resumed once the result is there")
        }
        return try result.get()
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
