import Glibc
import Loop
import ServiceKit

/// One connection and the thread it lives on; made again by itself when it is lost.
actor PostgreSQLLane {
    private nonisolated let thread: SerialThread
    private nonisolated let inbox: Locked<PostgreSQLInbox>
    private nonisolated let statistics: Locked<PostgreSQLStatistics>
    private let number: Int
    private let url: PostgreSQLURL
    private let options: PostgreSQLOptions
    private let time: any TimeSource
    private let random: RandomSource
    private var connection: PostgreSQLConnection?
    private var lastWasWrite = false
    private var failedConnects = 0
    /// No attempt to connect before this.
    private var nextConnect: MonotonicInstant?
    private var lastRefusal: StorageError?

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    private static let reconnect = Backoff(base: .milliseconds(100), cap: .seconds(5))

    init(
        number: Int,
        url: PostgreSQLURL,
        options: PostgreSQLOptions,
        inbox: Locked<PostgreSQLInbox>,
        statistics: Locked<PostgreSQLStatistics>,
        time: any TimeSource,
        random: RandomSource
    ) throws(SystemCallError) {
        self.thread = try SerialThread(name: "postgresql-\(number)")
        self.number = number
        self.url = url
        self.options = options
        self.inbox = inbox
        self.statistics = statistics
        self.time = time
        self.random = random
    }

    /// Connects, checks the server and runs the missing migrations.
    func open(_ migrations: [Migration]) throws {
        let connection = try PostgreSQLConnection(url: url, options: options)
        if try connection.first("SHOW fsync", { $0.text(0) }) == "off" {
            throw StorageError(
                .misuse,
                "the server runs with fsync=off and would lose what was accepted; switch it on"
            )
        }
        try waitForOwnership(connection)
        try PostgreSQLMigrator(migrations: migrations).run(on: connection, schema: options.schema)
        statistics.withLock { $0.connects += 1 }
        self.connection = connection
    }

    /// Has the lane look for work, on its own thread.
    nonisolated func wake() {
        thread.execute { self.assumeIsolated { $0.work() } }
    }

    func close() { connection = nil }

    /// Ends the thread; the connection has been closed before.
    nonisolated func stop() { thread.stop() }

    private func work() {
        while let work = inbox.withLock({ $0.take(for: number, prefersRead: lastWasWrite) }) {
            switch work {
            case .write(let calls):
                lastWasWrite = true
                commit(calls)
            case .read(let call):
                lastWasWrite = false
                read(call)
            }
        }
    }

    private func read(_ call: PostgreSQLCall) {
        repeatedly([call], Self.beginRead)
    }

    private func commit(_ calls: [PostgreSQLCall]) {
        repeatedly(calls, "BEGIN")
    }

    private static let beginRead = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
}

extension PostgreSQLLane {
    /// Runs a transaction until it has answered its calls: again after a conflict, and once more on a
    /// new connection when the old one was lost before the COMMIT.
    private func repeatedly(
        _ calls: [PostgreSQLCall],
        _ begin: String
    ) {
        var conflicts = 0
        var lostOnce = false
        while true {
            do {
                try runTransaction(calls, begin, on: try connected())
                return
            } catch let failed as ClosureFailed {
                for call in calls { call.finish(failed.error) }
                return
            } catch {
                let known = error as? StorageError
                let wasLost = connection?.isLost ?? false
                if wasLost { connection = nil }
                if wasLost && known?.kind == .connectionLost && !lostOnce {
                    lostOnce = true
                } else if !wasLost, known?.isConflict == true, conflicts < options.retries {
                    conflicts += 1
                    pause(after: conflicts)
                } else {
                    giveUp(calls, error, isLost: wasLost || connection == nil)
                    return
                }
                statistics.withLock { $0.retries += 1 }
            }
        }
    }

    private func giveUp(_ calls: [PostgreSQLCall], _ error: any Error, isLost: Bool) {
        let known = error as? StorageError
        if known?.kind == .outcomeUnknown { statistics.withLock { $0.unknownOutcomes += 1 } }
        guard calls.count > 1, !isLost else {
            for call in calls { call.finish(error) }
            return
        }
        statistics.withLock { $0.splitBatches += 1 }
        for call in calls { commit([call]) }
    }

    /// Runs calls in one transaction, each in its own savepoint if there are several.
    private func runTransaction(
        _ calls: [PostgreSQLCall],
        _ begin: String,
        on connection: PostgreSQLConnection
    ) throws {
        var failures: [(PostgreSQLCall, any Error)] = []
        var successes: [PostgreSQLCall] = []
        try connection.transaction(begin) {
            for call in calls {
                if calls.count > 1 { try connection.script("SAVEPOINT request") }
                if let error = try run(call, on: connection) {
                    guard calls.count > 1 else { throw ClosureFailed(error: error) }
                    failures.append((call, error))
                    try connection.script("ROLLBACK TO request")
                } else {
                    successes.append(call)
                }
                if calls.count > 1 { try connection.script("RELEASE request") }
            }
            if begin != Self.beginRead { reach("committing", calls) }
        }
        if begin != Self.beginRead { reach("committed", calls) }
        for (call, error) in failures { call.finish(error) }
        for call in successes { call.finish(nil) }
        if begin != Self.beginRead && !successes.isEmpty {
            let count = successes.count
            statistics.withLock {
                $0.commits += 1
                $0.writes += count
            }
        }
    }

    private func reach(_ moment: StaticString, _ calls: [PostgreSQLCall]) {
        for call in calls { CrashPoint.reach(moment, of: call.verb) }
    }

    /// What a closure threw; throws itself when the whole transaction has to be run again.
    private func run(
        _ call: PostgreSQLCall,
        on connection: PostgreSQLConnection
    ) throws -> (any Error)? {
        do {
            try call.perform(connection)
            if connection.isInTransaction { return nil }
            throw StorageError(.misuse, "a store closure went on after a statement had failed")
        } catch {
            let known = error as? StorageError
            if connection.isLost || known?.isConflict == true { throw error }
            return error
        }
    }

    /// Ends the transaction of a closure that threw and is alone in it.
    private struct ClosureFailed: Error {
        let error: any Error
    }

    private func connected() throws -> PostgreSQLConnection {
        if let connection { return connection }
        if let nextConnect, let lastRefusal, time.monotonic < nextConnect { throw lastRefusal }
        do {
            let made = try PostgreSQLConnection(url: url, options: options)
            try takeOwnership(made)
            connection = made
            failedConnects = 0
            nextConnect = nil
            statistics.withLock { $0.connects += 1 }
            return made
        } catch {
            let refusal = StorageError(.connectionLost, error.message, sqlState: error.sqlState)
            let wait = Self.reconnect.delay(attempt: failedConnects, random: random)
            nextConnect = time.monotonic + wait
            lastRefusal = refusal
            failedConnects += 1
            statistics.withLock { $0.failedConnects += 1 }
            throw refusal
        }
    }

    /// The connection that writes holds an advisory lock where the store has one owner, so that no
    /// other process's writes can come between.
    private func takeOwnership(_ connection: PostgreSQLConnection) throws(StorageError) {
        guard options.ownership == .exclusive, number == 0 else { return }
        let taken: Bool?
        do {
            taken = try connection.first(
                "SELECT pg_try_advisory_lock(\(Self.ownerKey))",
                [.text(options.schema)]
            ) { $0.bool(0) }
        } catch {
            throw error as? StorageError ?? StorageError(.other, "\(error)")
        }
        guard taken == true else { throw refusal(.connectionLost) }
    }

    /// The same at the start, when a former life of this process may be gone and its session not yet.
    private func waitForOwnership(_ connection: PostgreSQLConnection) throws {
        guard options.ownership == .exclusive else { return }
        let milliseconds = options.ownerTimeout.clampedNanoseconds / 1_000_000
        do {
            try connection.transaction {
                try connection.script("SET LOCAL lock_timeout = \(milliseconds)")
                _ = try connection.first(
                    "SELECT pg_advisory_lock(\(Self.ownerKey))",
                    [.text(options.schema)]
                ) { _ in true }
            }
        } catch let error as StorageError where error.sqlState == "55P03" {
            throw refusal(.alreadyRunning)
        }
    }

    private static let ownerKey = "hashtextextended('pushbus owner of ' || $1, 0)"

    private func refusal(_ kind: StorageError.Kind) -> StorageError {
        StorageError(
            kind,
            "another process owns \(options.schema) in \(url); stop it first, this store has one owner"
        )
    }

    private func pause(after conflicts: Int) {
        let limit = UInt64(1_000 << min(conflicts, 6))
        usleep(UInt32(1_000 + random.uniform(below: limit)))
    }
}
