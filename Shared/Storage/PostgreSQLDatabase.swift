import Loop
import ServiceKit

/// A PostgreSQL database: a few connections, each on its own thread, and group commit.
///
/// Calls suspend, they never block the caller's thread, and every wait has a deadline. Writes that
/// queue while the connections are busy share the next COMMIT. A lost connection is made again with a
/// backoff; meanwhile calls fail at once as `connectionLost`. `close()` is required.
package final class PostgreSQLDatabase: SQLDatabase {
    private let lanes: [PostgreSQLLane]
    private let inbox: Locked<PostgreSQLInbox>
    private let counts: Locked<PostgreSQLStatistics>
    private let time: any TimeSource
    private let keeper: Task<Void, Never>

    private init(
        lanes: [PostgreSQLLane],
        inbox: Locked<PostgreSQLInbox>,
        counts: Locked<PostgreSQLStatistics>,
        time: any TimeSource,
        keeper: Task<Void, Never>
    ) {
        self.lanes = lanes
        self.inbox = inbox
        self.counts = counts
        self.time = time
        self.keeper = keeper
    }

    /// Connects and brings the schema up to date, making it if it is not there.
    ///
    /// Throws `alreadyRunning` when another process owns an exclusive schema, `newerSchema` and
    /// `foreignSchema` when its migrations are not a prefix of these, `connectionLost` when there is no
    /// server, `cannotOpen` when the server refuses the user.
    package static func open(
        _ url: PostgreSQLURL,
        migrations: [Migration],
        options: PostgreSQLOptions,
        time: any TimeSource = SystemTime(),
        random: RandomSource = .system
    ) async throws(StorageError) -> PostgreSQLDatabase {
        let inbox = Locked(PostgreSQLInbox(options: options))
        let counts = Locked(PostgreSQLStatistics())
        var lanes: [PostgreSQLLane] = []
        do {
            for number in 0..<options.lanes {
                lanes.append(
                    try PostgreSQLLane(
                        number: number,
                        url: url,
                        options: options,
                        inbox: inbox,
                        statistics: counts,
                        time: time,
                        random: random
                    )
                )
            }
            try await lanes[0].open(migrations)
        } catch {
            for lane in lanes { lane.stop() }
            let known =
                (error as? StorageError)
                ?? StorageError(.cannotOpen, "the store did not open: \(error)")
            throw known.naming(url.description)
        }
        let keeper = Task {
            while (try? await time.sleep(for: .milliseconds(500))) != nil {
                let limit = time.monotonic - options.waitLimit
                for call in inbox.withLock({ $0.overdue(since: limit) }) {
                    call.finish(
                        StorageError(
                            .overloaded,
                            "no connection was free within \(options.waitLimit); try again later"
                        )
                    )
                }
            }
        }
        return PostgreSQLDatabase(
            lanes: lanes,
            inbox: inbox,
            counts: counts,
            time: time,
            keeper: keeper
        )
    }

    @discardableResult
    package func write<Value: Sendable>(
        rows: Int,
        verb: StaticString,
        _ body: @escaping @Sendable (PostgreSQLConnection) throws -> Value
    ) async throws -> Value {
        try await call(rows: rows, verb: verb, body)
    }

    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (PostgreSQLConnection) throws -> Value
    ) async throws -> Value {
        try await call(rows: nil, verb: #function, body)
    }

    /// What the connections have done since the database was opened.
    package var statistics: PostgreSQLStatistics { counts.withLock { $0 } }

    /// Finishes what was let in and ends connections and threads; idempotent.
    package func close() async {
        guard inbox.withLock({ $0.close() }) else { return }
        await withCheckedContinuation { continuation in
            if !inbox.withLock({ $0.waitUntilEmpty(continuation) }) { continuation.resume() }
        }
        keeper.cancel()
        await keeper.value
        for lane in lanes {
            await lane.close()
            lane.stop()
        }
    }

    private func call<Value: Sendable>(
        rows: Int?,
        verb: StaticString,
        _ body: @escaping @Sendable (PostgreSQLConnection) throws -> Value
    ) async throws -> Value {
        // The result takes the way through a lock: ThreadSanitizer does not see the hand-over inside a
        // continuation that is resumed before its task has suspended.
        let outcome = Locked<Result<Value, any Error>?>(nil)
        let enteredAt = time.monotonic
        try await withUnsafeThrowingContinuation {
            (continuation: UnsafeContinuation<Void, any Error>) in
            let call = PostgreSQLCall(
                rows: rows,
                verb: verb,
                enteredAt: enteredAt,
                perform: { connection in
                    let value = try body(connection)
                    outcome.withLock { $0 = .success(value) }
                },
                finish: { error in
                    if let error { outcome.withLock { $0 = .failure(error) } }
                    continuation.resume()
                }
            )
            do {
                let lane = try inbox.withLock { inbox throws(StorageError) in
                    try inbox.enter(call)
                }
                if let lane { lanes[lane].wake() }
            } catch {
                continuation.resume(throwing: error)
            }
        }
        for waiter in inbox.withLock({ $0.leave() }) { waiter.resume() }
        guard let result = outcome.withLock({ $0 }) else {
            preconditionFailure("a call is finished once its value is there")
        }
        return try result.get()
    }
}
