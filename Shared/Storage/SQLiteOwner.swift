import CSQLite
import Loop

/// The one owner of a store's file: everything here runs on the store's own thread.
actor SQLiteOwner {
    private nonisolated let thread: SerialThread
    private nonisolated let inbox: Locked<SQLiteInbox>
    private let options: SQLiteOptions
    private var connection: SQLiteConnection?
    private var lock: StoreLock?
    private var finishedTicket: UInt64 = 0
    private var hasUncheckpointedWrites = false
    /// The disk was full: the WAL is emptied before anything more is written.
    private var wasFull = false
    private var path = ""
    private(set) var statistics = SQLiteStatistics()

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(thread: SerialThread, inbox: Locked<SQLiteInbox>, options: SQLiteOptions) {
        self.thread = thread
        self.inbox = inbox
        self.options = options
    }

    /// Takes the lock, opens and checks the file, and runs the missing migrations.
    func open(path: String, migrations: [Migration]) throws {
        let lock = try StoreLock(storePath: path)
        try lock.createFile(path)
        let connection = try SQLiteConnection(opening: path)
        do {
            try connection.configure(options)
            if !lock.wasStoppedCleanly {
                try connection.quickCheck()
                statistics.checkedAtOpen = true
            }
            try lock.markOpen()
            try Migrator(migrations: migrations).run(on: connection)
            hasUncheckpointedWrites = try !connection.truncateWAL()
        } catch {
            try? connection.close()
            throw error
        }
        self.lock = consume lock
        self.connection = connection
        self.path = path
    }

    /// Commits batches until the write with this ticket has been answered.
    func commit(through ticket: UInt64) {
        while finishedTicket < ticket {
            let batch = inbox.withLock {
                $0.takeBatch(requests: options.batchRequests, rows: options.batchRows)
            }
            guard let last = batch.last else { return }
            commit(batch)
            finishedTicket = last.ticket
        }
    }

    /// Runs a closure that only reads, outside a transaction, between two batches.
    func read<Value: Sendable>(
        _ body: @Sendable (SQLiteConnection) throws -> Value
    ) throws -> Value {
        let connection = try opened()
        connection.refusesWrites = true
        defer { connection.refusesWrites = false }
        return try body(connection)
    }

    /// Empties the WAL if anything was written since the last time; true when it is empty.
    func checkpoint() throws -> Bool {
        let connection = try opened()
        guard hasUncheckpointedWrites else { return true }
        do {
            let isEmpty = try connection.truncateWAL()
            hasUncheckpointedWrites = !isEmpty
            statistics.checkpoints += isEmpty ? 1 : 0
            statistics.failedCheckpoints += isEmpty ? 0 : 1
            return isEmpty
        } catch {
            statistics.failedCheckpoints += 1
            throw error
        }
    }

    /// Answers what still waits, empties the WAL and leaves the clean-stop mark.
    func close() throws {
        guard let connection else { return }
        commit(through: .max)
        let isEmpty = try? checkpoint()
        self.connection = nil
        let held = lock.take()
        try connection.close()
        if isEmpty == true, let held { try held.markClean() }
    }

    /// The connection, for the backup, which copies page by page between batches.
    func opened() throws(StorageError) -> SQLiteConnection {
        guard let connection else { throw StorageError(.closed, "the store has been closed") }
        return connection
    }
}

extension SQLiteOwner {
    private func commit(_ batch: [SQLiteWrite]) {
        do {
            let connection = try opened()
            if wasFull {
                // Room that came free goes to the file first, or the WAL would take it all.
                hasUncheckpointedWrites = try !connection.truncateWAL()
                wasFull = false
            }
            let survivors = try runTransaction(batch, on: connection)
            statistics.writes += survivors
            keepRoom()
        } catch {
            if let error = error as? StorageError, error.kind == .full { wasFull = true }
            guard batch.count > 1 else {
                batch.first?.fail(error)
                return
            }
            statistics.splitBatches += 1
            for write in batch { commit([write]) }
        }
    }

    /// Empties the WAL early where little room is left.
    private func keepRoom() {
        guard let room = options.measureRoom(path), room.isShort else { return }
        // What fails here is tried again after the next commit, and counted.
        _ = try? checkpoint()
    }

    /// Runs a batch in one transaction and returns how many of its writes were committed.
    ///
    /// A closure that throws loses its own savepoint only. Throws when the transaction as a whole was
    /// lost, for example because the disk is full at COMMIT.
    private func runTransaction(
        _ batch: [SQLiteWrite],
        on connection: SQLiteConnection
    ) throws -> Int {
        do {
            var failures: [(SQLiteWrite, any Error)] = []
            try connection.execute("BEGIN IMMEDIATE")
            for write in batch {
                if let error = try runInSavepoint(write, on: connection) {
                    failures.append((write, error))
                }
            }
            for write in batch { CrashPoint.reach("committing", of: write.verb) }
            try connection.execute("COMMIT")
            for write in batch { CrashPoint.reach("committed", of: write.verb) }
            for (write, error) in failures {
                if let error = error as? StorageError, error.kind == .full { wasFull = true }
                write.fail(error)
            }
            statistics.commits += 1
            hasUncheckpointedWrites = true
            return batch.count - failures.count
        } catch {
            connection.rollBack()
            throw error
        }
    }

    /// The closure's error, after its changes were undone; throws when the transaction is gone too.
    private func runInSavepoint(
        _ write: SQLiteWrite,
        on connection: SQLiteConnection
    ) throws -> (any Error)? {
        try connection.execute("SAVEPOINT request")
        do {
            try write.perform(connection)
            guard connection.isInTransaction else {
                throw StorageError(.misuse, "a store closure ended the transaction it runs in")
            }
            try connection.execute("RELEASE request")
            return nil
        } catch {
            guard connection.isInTransaction else { throw error }
            try connection.execute("ROLLBACK TO request")
            try connection.execute("RELEASE request")
            return error
        }
    }
}
