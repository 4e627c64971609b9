import Contracts
import EventIngestCore
import EventIngestService
import FoundationEssentials
import ServiceKit
import Storage
import TestKit
import Testing

/// A store of the first schema, with data of every kind, is brought up to date and goes on.
@Suite struct EventStoreUpgradeTests {
    /// The released first migration, word for word: what is in the field does not change.
    private static let first = Migration(
        number: 1,
        name: "eventingest_1_events",
        statements: [
            """
            CREATE TABLE received (
                seq INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT NOT NULL, id TEXT NOT NULL,
                content_hash BLOB NOT NULL, verdict TEXT NOT NULL, event_id BLOB NOT NULL,
                received_at INTEGER NOT NULL, UNIQUE (source, id)
            ) STRICT
            """,
            """
            CREATE TABLE events (
                seq INTEGER PRIMARY KEY AUTOINCREMENT, event_id BLOB NOT NULL UNIQUE,
                source TEXT NOT NULL, id TEXT NOT NULL, category TEXT NOT NULL,
                occurred_at_ms INTEGER NOT NULL, created_at INTEGER NOT NULL,
                expires_at INTEGER NOT NULL, state INTEGER NOT NULL, reason TEXT,
                turn_at_ms INTEGER, watermark INTEGER, cursor TEXT,
                written INTEGER NOT NULL DEFAULT 0, skipped TEXT NOT NULL DEFAULT '{}',
                after_event BLOB, holds INTEGER NOT NULL, traceparent TEXT, payload BLOB
            ) STRICT
            """,
            "CREATE INDEX events_unsettled ON events (seq) WHERE state = 0",
            "CREATE INDEX events_turn ON events (turn_at_ms, seq) WHERE turn_at_ms IS NOT NULL",
            "CREATE INDEX events_open ON events (expires_at) WHERE state < 10",
            "CREATE INDEX events_ended ON events (created_at) WHERE state >= 10 AND holds = 0",
            "CREATE INDEX events_after ON events (after_event) WHERE after_event IS NOT NULL",
        ]
    )

    private struct Row {
        var event: JSONValue
        var state: Int64
        var reason: String?
        var turn: Int64?
        var watermark: Int64?
        var cursor: String?
        var holds = true
    }

    private static func insert(_ row: Row, _ database: SQLiteDatabase) async throws {
        let candidate = try EventSamples.candidate(row.event)
        let notification = candidate.notification
        var payload: [UInt8]?
        if row.state < 10, case .alert(let alert) = notification.content {
            // As the first release wrote it.
            let text = """
                {"audience":{},"content":{"alert":{"alert_key":"\(alert.alertKey)",\
                "rule_name":"\(alert.ruleName)","server_name":"\(alert.serverName)",\
                "status":"\(alert.status.rawValue)"},"kind":"alert"}}
                """
            payload = Array(text.utf8)
        }
        let now = StoreWorld.start
        let id = notification.eventID.bytes
        let received: [SQLValue] = [
            .text(candidate.source), .text(candidate.id), .blob(candidate.contentHash),
            .blob(id), .int(now.second.seconds),
        ]
        let values: [SQLValue] = [
            .blob(id), .text(candidate.source), .text(candidate.id), .int(now.milliseconds),
            .int(now.second.seconds), .int(now.second.seconds + 1800), .int(row.state),
            .text(orNull: row.reason), .int(orNull: row.turn), .int(orNull: row.watermark),
            .text(orNull: row.cursor), .blob(orNull: notification.after?.bytes),
            .bool(row.holds), .blob(orNull: payload),
        ]
        try await database.write { connection in
            try connection.execute(
                """
                INSERT INTO received (source, id, content_hash, verdict, event_id, received_at)
                VALUES ($1, $2, $3, 'admitted', $4, $5)
                """,
                received
            )
            try connection.execute(
                """
                INSERT INTO events (event_id, source, id, category, occurred_at_ms, created_at,
                    expires_at, state, reason, turn_at_ms, watermark, cursor, after_event, holds,
                    payload)
                VALUES ($1, $2, $3, 'alert', $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
                """,
                values
            )
        }
    }

    private let waiting = EventSamples.alert(id: "w", rule: "waiting")
    private let handed = EventSamples.alert(id: "h", rule: "handed")
    private let notified = EventSamples.alert(id: "n", rule: "notified")
    private let late = EventSamples.alert(id: "l", rule: "late")
    private let held = EventSamples.alert(.alertResolved, id: "r", rule: "handed")

    private func id(_ event: JSONValue) throws -> EventID {
        try EventSamples.candidate(event).notification.eventID
    }

    private func publish(_ event: JSONValue, _ store: any EventStore) async throws -> Admission {
        try #require(try await store.admit([try EventSamples.candidate(event)]).first)
    }

    /// A store with data of every kind as the first release left it, opened by this one.
    private func upgraded(_ directory: TemporaryDirectory) async throws -> any EventStore {
        let start = StoreWorld.start.milliseconds
        let old = try await SQLiteDatabase.open(
            path: directory.file("events.db"),
            migrations: [Self.first]
        )
        let rows = [
            Row(event: waiting, state: 0),
            Row(event: handed, state: 2, turn: start + 15_000, watermark: 5, cursor: "i5"),
            Row(event: notified, state: 10, watermark: 4, cursor: "i9"),
            Row(event: late, state: 11, reason: "too_old"),
            Row(event: held, state: 1, turn: start, watermark: 6, holds: false),
        ]
        for row in rows { try await Self.insert(row, old) }
        await old.close()
        return try await StoreFactory.sqlite.open(
            directory.path,
            ManualTime(wall: StoreWorld.start),
            EventStoreLimits(),
            PolicyRulings()
        )
    }

    @Test func goesOnFromTheFirstSchema() async throws {
        let directory = try TemporaryDirectory()
        let store = try await upgraded(directory)
        #expect(try await store.recover() == 1)
        // What was under way continues where it was, and what came in is known.
        if let mark = try await store.awaitingWatermark() {
            #expect(try await store.settle(watermark: 8, upTo: mark) == 1)
        }
        let orders = try await store.claimDue(limit: 10).orders.map(\.event)
        #expect(Set(orders.map(\.eventID)) == [try id(waiting), try id(handed)])
        let again = try #require(orders.first { $0.eventID == (try? id(handed)) })
        #expect(again.watermark == 5)
        #expect(again.cursor == InstallationID("i5"))
        for event in [waiting, handed, notified, late, held] {
            #expect(try await publish(event, store).result.status == .duplicate)
        }
        try await checkCycles(store)
        await store.close()
    }

    /// The trigger that notified has its recovery admitted, the late one has not; the recovery that
    /// waited for the handed trigger is due when that one ends.
    private func checkCycles(_ store: any EventStore) async throws {
        let recovery = EventSamples.alert(.alertResolved, id: "n2", rule: "notified")
        guard case .record(let admitted) = try await publish(recovery, store) else {
            Issue.record("not recorded")
            return
        }
        #expect(admitted.verdict == .admitted)
        let lateRecovery = EventSamples.alert(.alertResolved, id: "l2", rule: "late")
        guard case .record(let suppressed) = try await publish(lateRecovery, store) else {
            Issue.record("not recorded")
            return
        }
        #expect(suppressed.reason == "no_trigger")
        _ = try await store.record(
            FanoutProgress(
                eventID: try id(handed),
                from: InstallationID("i5"),
                to: InstallationID("i9"),
                written: 4,
                skipped: [:],
                state: .done
            )
        )
        let due = try await store.claimDue(limit: 10).orders.map(\.event.eventID)
        #expect(due == [try id(held)])
        let known = try await store.explain(EventExplain(source: "/monitor/1", id: "h"))
        #expect(known.event?.state == .fannedOut)
        #expect(known.receptions.map(\.verdict) == ["admitted"])
    }
}
