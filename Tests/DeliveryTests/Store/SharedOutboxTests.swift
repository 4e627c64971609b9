import Contracts
import DeliveryCore
import DeliveryService
import Glibc
import Loop
import ServiceKit
import Storage
import TestKit
import Testing

/// What several processes on one PostgreSQL outbox promise each other.
@Suite(.serialized) struct SharedOutboxTests {
    private let lease = Duration.seconds(60)
    /// A server that tests may stop.
    private static let breakable = Result { try PostgreSQLServer() }

    @Test func noRowIsClaimedTwice() async throws {
        try await SharedOutbox.with(3) { outbox in
            for event in 0..<3 {
                let batch = Samples.fresh(event, 0..<200, SystemTime())
                _ = try await outbox.stores[0].enqueue(batch, leasing: 0, lease: lease)
            }
            let claimed = try await outbox.drain(600)
            #expect(claimed.count == 600)
            #expect(Set(claimed).count == 600)
            let faults = try outbox.faults()
            #expect(faults == "")
        }
    }

    @Test func nothingIsLeftLyingWhileRowsCome() async throws {
        try await SharedOutbox.with(3) { outbox in
            let batches = 60
            async let drained = outbox.drain(batches * 5)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<batches {
                    let store = outbox.stores[number % 3]
                    let batch = Samples.fresh(
                        number % 2,
                        number * 5..<number * 5 + 5,
                        SystemTime()
                    )
                    group.addTask {
                        _ = try await store.enqueue(batch, leasing: 0, lease: .seconds(60))
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await Set(drained).count == batches * 5)
            let faults = try outbox.faults()
            #expect(faults == "")
        }
    }

    @Test func aHundredRepeatsFromThreeProcessesMakeOneRow() async throws {
        try await SharedOutbox.with(3) { outbox in
            let batch = Samples.fresh(1, 0..<1, SystemTime())
            let answers = try await withThrowingTaskGroup(of: EnqueueResult.self) { group in
                for number in 0..<100 {
                    let store = outbox.stores[number % 3]
                    group.addTask {
                        try await store.enqueue(batch, leasing: 1, lease: .seconds(60))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.count == 100)
            #expect(answers.map(\.accepted).reduce(0, +) == 1)
            #expect(answers.map(\.leased.count).reduce(0, +) == 1)
            let faults = try outbox.faults()
            #expect(faults == "")
        }
    }

    @Test func aLapsedLeaseCommitsNothingButAnAcceptance() async throws {
        let clock = ManualTime()
        try await SharedOutbox.with(3, clock: clock) { outbox in
            let stalled = outbox.stores[0]
            let old = try await stalled.enqueue(Samples.batch(1, 0..<3), leasing: 3, lease: lease)
                .leased
            clock.advance(by: lease)
            let new = try await outbox.stores[1].claim(limit: 9, lease: lease).rows
            #expect(new.map(\.lease.generation) == [2, 2, 2])
            let late = try await stalled.settle([
                RowOutcome(old[0], .permanent(reason: "x", isAttempt: true)),
                RowOutcome(old[1], .retry(reason: "x", delayMilliseconds: 0, isAttempt: true)),
                RowOutcome(old[2], .accepted),
            ])
            #expect(late == [.ignored(.lapsed), .ignored(.lapsed), .ended(.accepted)])
            let rest = try await outbox.stores[1].settle(new.map { RowOutcome($0, .accepted) })
            #expect(Set(rest) == [.ended(.accepted), .ignored(.ended)])
            let faults = try outbox.faults()
            #expect(faults == "")
        }
    }

    @Test func completionAndRescueRacedLeaveOneEnd() async throws {
        let clock = ManualTime()
        try await SharedOutbox.with(2, clock: clock) { outbox in
            let (holder, rescuer) = (outbox.stores[0], outbox.stores[1])
            for round in 0..<60 {
                let batch = Samples.fresh(round, 0..<1, clock)
                let row = try #require(
                    try await holder.enqueue(batch, leasing: 1, lease: lease).leased.first
                )
                clock.advance(by: lease)
                let change: RowChange =
                    round.isMultiple(of: 2)
                    ? .accepted : .permanent(reason: "x", isAttempt: true)
                async let settled = holder.settle([RowOutcome(row, change)])
                async let claimed = rescuer.claim(limit: 9, lease: lease).rows
                let (first, rows) = try await (settled[0], claimed)
                let second = try await rescuer.settle(rows.map { RowOutcome($0, .expired) })
                let ends = ([first] + second).count {
                    if case .ended = $0 { true } else { false }
                }
                #expect(ends == 1)
            }
            let faults = try outbox.faults()
            #expect(faults == "")
        }
    }

    @Test func aLateCommitIsDelivered() async throws {
        try await SharedOutbox.with(1) { outbox in
            let store = outbox.stores[0]
            let options = PostgreSQLDeliveryStore.options
            let url = try PostgreSQLURL(outbox.server.url(of: outbox.name))
            let late = try await PostgreSQLDatabase.open(
                url,
                migrations: [],
                options: PostgreSQLOptions(schema: "other", ownership: .shared)
            )
            let (inserted, goOn) = (Observed(false), Semaphore())
            let now = SystemTime().wall.milliseconds
            async let first: Void = late.write { connection in
                try connection.script(
                    """
                    SET LOCAL search_path = \(options.schema);
                    INSERT INTO event_fixed (event_id, category, created_at, expires_at, watermark)
                        VALUES ('\\x\(String(repeating: "01", count: 16))', 'alert', 0, 9999999999, 1);
                    INSERT INTO event_count (event, expires_at, turn, open)
                        SELECT id, 9999999999, \(now), 1 FROM event_fixed;
                    INSERT INTO outbox (event, installation, binding, state, claims, generation, due,
                        updated_at) SELECT id, 'late', 1, 0, 0, 0, \(now), 0 FROM event_fixed
                    """
                )
                inserted.update { $0 = true }
                goOn.wait()
            }
            await inserted.wait { $0 }
            let batch = Samples.fresh(1, 0..<3, SystemTime())
            _ = try await store.enqueue(batch, leasing: 0, lease: lease)
            let others = try await store.claim(limit: 9, lease: lease).rows
            #expect(others.count == 3)
            goOn.signal()
            try await first
            await late.close()
            let rows = try await store.claim(limit: 9, lease: lease).rows
            #expect(rows.map(\.installationID.text) == ["late"])
            #expect(
                rows.allSatisfy { row in others.allSatisfy { $0.lease.rowID > row.lease.rowID } }
            )
        }
    }

    @Test func endedSessionsLoseNothing() async throws {
        try await SharedOutbox.with(2) { outbox in
            let batches = 40
            async let drained = outbox.drain(batches * 10, lease: .milliseconds(200))
            let stop = Observed(false)
            async let killer: Void = {
                for _ in 0..<8 where !stop.value { try outbox.endSessions() }
            }()
            for number in 0..<batches {
                let batch = Samples.fresh(number, 0..<10, SystemTime())
                try await repeatedly {
                    _ = try await outbox.stores[0].enqueue(batch, leasing: 0, lease: .seconds(60))
                }
            }
            stop.update { $0 = true }
            try await killer
            _ = try await drained
            let faults = try outbox.faults()
            #expect(faults == "")
            let reconnects = outbox.stores.map(\.statistics.connects).reduce(0, +)
            #expect(reconnects > 2)
        }
    }

    @Test func whatWasAckedSurvivesAnImmediateStop() async throws {
        let time = ManualTime()
        let server = try Self.breakable.get()
        try await SharedOutbox.with(1, server: server, time: time) { outbox in
            let store = outbox.stores[0]
            var acked = 0
            let stopper = DetachedStop(outbox.server)
            for number in 0..<10_000 {
                let batch = Samples.fresh(number, 0..<10, SystemTime())
                do {
                    acked += try await store.enqueue(batch, leasing: 0, lease: lease).accepted
                } catch let error as StorageError where error.isRetriable {
                    break
                }
                if number == 20 { try stopper.start() }
            }
            try await stopper.wait()
            #expect(acked >= 200)
            try outbox.server.start()
            time.advance(by: .seconds(10))
            let kept = try outbox.sql("SELECT count(*) FROM outbox")
            // A commit whose answer was lost may be there beyond what was acked.
            #expect((Int(kept) ?? 0) >= acked)
            #expect((Int(kept) ?? 0) <= acked + 10)
            let faults = try outbox.faults()
            #expect(faults == "")
        }
    }

    @Test func aServerThatStandsStillDelaysOnly() async throws {
        let server = try Self.breakable.get()
        var options = PostgreSQLDeliveryStore.options
        options.statementTimeout = .milliseconds(300)
        options.connectTimeout = .milliseconds(300)
        options.commitTimeout = .milliseconds(300)
        try await SharedOutbox.with(2, server: server, options: options) { outbox in
            let batch = Samples.fresh(1, 0..<300, SystemTime())
            _ = try await outbox.stores[0].enqueue(batch, leasing: 0, lease: lease)
            async let drained = outbox.drain(300, lease: .milliseconds(500))
            try server.send(SIGSTOP)
            let stalled = await #expect(throws: StorageError.self) {
                let late = Samples.fresh(2, 0..<1, SystemTime())
                return try await outbox.stores[0].enqueue(late, leasing: 0, lease: .seconds(60))
            }
            #expect(stalled?.isRetriable == true)
            try server.send(SIGCONT)
            #expect(try await Set(drained).count == 300)
            let faults = try outbox.faults()
            #expect(faults == "")
        }
    }

    @Test func aPinnedSnapshotStopsNothing() async throws {
        try await SharedOutbox.with(2) { outbox in
            let pinned = try await PostgreSQLDatabase.open(
                PostgreSQLURL(outbox.server.url(of: outbox.name)),
                migrations: [],
                options: PostgreSQLOptions(schema: "other", ownership: .shared)
            )
            let (ready, goOn) = (Observed(false), Semaphore())
            async let reader: Void = pinned.read { connection in
                _ = try connection.first("SELECT txid_current_snapshot()::text") { $0.text(0) }
                ready.update { $0 = true }
                goOn.wait()
            }
            await ready.wait { $0 }
            for event in 0..<8 {
                let batch = Samples.fresh(event, 0..<250, SystemTime())
                _ = try await outbox.stores[0].enqueue(batch, leasing: 0, lease: lease)
                _ = try await outbox.drain(250)
            }
            goOn.signal()
            try await reader
            await pinned.close()
            let faults = try outbox.faults()
            #expect(faults == "")
        }
    }

    @Test func aBackupIsMadeElsewhere() async throws {
        try await SharedOutbox.with(1) { outbox in
            let error = await #expect(throws: StorageError.self) {
                try await outbox.stores[0].backup(to: "/tmp/x")
            }
            #expect(error?.kind == .unsupported)
            #expect(error?.message.contains("pg_dump") == true)
        }
    }

    private func repeatedly(_ body: () async throws -> Void) async throws {
        while true {
            do {
                return try await body()
            } catch let error as StorageError where error.isRetriable {
                try Task.checkCancellation()
            }
        }
    }
}

/// Stops a server from a thread of its own.
private final class DetachedStop: Sendable {
    private let server: PostgreSQLServer
    private let isDone = Observed(false)

    init(_ server: PostgreSQLServer) { self.server = server }

    func start() throws {
        try DetachedThread.start(name: "stop") { [self] in
            server.stop()
            isDone.update { $0 = true }
        }
    }

    func wait() async throws {
        _ = try await within(.seconds(60)) { await self.isDone.wait { $0 } }
    }
}

/// Holds a store's thread until the test lets it go on.
// Sendable by proof: a POSIX semaphore may be waited for and posted by any thread (sem_overview(7)).
private final class Semaphore: @unchecked Sendable {
    private let pointer = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(pointer, 0, 0) }

    deinit {
        sem_destroy(pointer)
        pointer.deallocate()
    }

    func wait() { sem_wait(pointer) }
    func signal() { sem_post(pointer) }
}
