import Loop
import ServiceKit

/// One SQLite file with one owner: a connection on its own thread, group commit, exclusive lock.
///
/// Calls suspend, they never block the caller's thread. `close()` is required; until then the store's
/// thread and file stay open.
package final class SQLiteDatabase: SQLDatabase {
    private let owner: SQLiteOwner
    private let thread: SerialThread
    private let inbox: Locked<SQLiteInbox>
    private let keeper: Task<Void, Never>

    private init(
        owner: SQLiteOwner,
        thread: SerialThread,
        inbox: Locked<SQLiteInbox>,
        keeper: Task<Void, Never>
    ) {
        self.owner = owner
        self.thread = thread
        self.inbox = inbox
        self.keeper = keeper
    }

    /// Opens or creates the file at an absolute path, checks it and brings its schema up to date.
    ///
    /// Throws `alreadyRunning` when another process owns it, `corrupt` when it is damaged or no
    /// database, `newerSchema` and `foreignSchema` when its migrations are not a prefix of these.
    package static func open(
        path: String,
        migrations: [Migration],
        options: SQLiteOptions = SQLiteOptions(),
        time: any TimeSource = SystemTime()
    ) async throws(StorageError) -> SQLiteDatabase {
        let thread: SerialThread
        do {
            thread = try SerialThread(name: "sqlite")
        } catch {
            throw StorageError(
                .cannotOpen,
                "the system has no room for the store's thread: \(error)"
            )
        }
        let inbox = Locked(SQLiteInbox(limit: options.queueLimit))
        let owner = SQLiteOwner(thread: thread, inbox: inbox, options: options)
        do {
            try await owner.open(path: path, migrations: migrations)
        } catch {
            thread.stop()
            let known =
                (error as? StorageError)
                ?? StorageError(.other, "the store did not open: \(error)")
            throw known.naming(path)
        }
        let interval = options.checkpointInterval
        let keeper = Task {
            while (try? await time.sleep(for: interval)) != nil {
                _ = try? await owner.checkpoint()
            }
        }
        return SQLiteDatabase(owner: owner, thread: thread, inbox: inbox, keeper: keeper)
    }

    /// Runs a closure in a transaction and returns its value after the COMMIT.
    ///
    /// It shares the transaction with the other writes that queued during the previous COMMIT, each in
    /// its own savepoint: what it throws undoes its own changes only. It may run a second time when the
    /// batch around it was lost, so it must not have effects outside the database. `rows` is about how
    /// many rows it touches. Cancellation of the caller does not undo it.
    @discardableResult
    package func write<Value: Sendable>(
        rows: Int,
        verb: StaticString,
        _ body: @escaping @Sendable (SQLiteConnection) throws -> Value
    ) async throws -> Value {
        let outcome = Locked<Result<Value, any Error>?>(nil)
        let ticket = try inbox.withLock { inbox throws(StorageError) in
            try inbox.enter()
            return inbox.append(
                verb: verb,
                rows: rows,
                perform: { connection in
                    let value = try body(connection)
                    outcome.withLock { $0 = .success(value) }
                },
                fail: { error in outcome.withLock { $0 = .failure(error) } }
            )
        }
        defer { leave() }
        await owner.commit(through: ticket)
        guard let result = outcome.withLock({ $0 }) else {
            throw StorageError(.closed, "the store was closed before the write ran")
        }
        return try result.get()
    }

    /// Runs a closure that only reads, between two transactions; it sees what is committed.
    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (SQLiteConnection) throws -> Value
    ) async throws -> Value {
        try inbox.withLock { inbox throws(StorageError) in try inbox.enter() }
        defer { leave() }
        return try await owner.read(body)
    }

    /// Empties the WAL, so that bytes erased before this call are in no file any more.
    ///
    /// Runs by itself every few seconds while there are writes. False when something was left in it.
    @discardableResult
    package func checkpoint() async throws -> Bool {
        try inbox.withLock { inbox throws(StorageError) in try inbox.enter() }
        defer { leave() }
        return try await owner.checkpoint()
    }

    /// Copies the whole file to a new one, page by page between other work; `finishing` changes the
    /// complete copy before it gets its name. Returns its size in bytes.
    @discardableResult
    package func backup(
        to path: String,
        finishing: @escaping @Sendable (SQLiteConnection) throws -> Void = { _ in }
    ) async throws -> Int64 {
        try enter()
        defer { leave() }
        return try await owner.backup(to: path, finishing: finishing).get()
    }

    /// What the store has done since it was opened.
    package var statistics: SQLiteStatistics {
        get async throws {
            try inbox.withLock { inbox throws(StorageError) in try inbox.enter() }
            defer { leave() }
            return await owner.statistics
        }
    }

    /// Finishes what was let in, empties the WAL, marks the clean stop and ends the thread; idempotent.
    package func close() async {
        guard inbox.withLock({ $0.close() }) else { return }
        keeper.cancel()
        await keeper.value
        await withCheckedContinuation { continuation in
            if !inbox.withLock({ $0.waitUntilEmpty(continuation) }) { continuation.resume() }
        }
        try? await owner.close()
        thread.stop()
    }

    @inline(never)
    private func enter() throws {
        try inbox.withLock { inbox throws(StorageError) in try inbox.enter() }
    }

    private func leave() {
        for waiter in inbox.withLock({ $0.leave() }) { waiter.resume() }
    }
}
