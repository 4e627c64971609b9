import Contracts
import RegistrationCore
import Storage

extension SQLRegistrationStore {
    package func requestTest(
        _ request: TestRequest,
        by caller: Caller,
        now: UnixSeconds
    ) async throws -> TestNotification {
        try await database.write { connection in
            try Self.requireSession(caller, now: now, in: connection)
            if let known = try Self.test(request.eventID, in: connection) {
                try known.resume(request, by: caller)
                return known
            }
            let id = caller.session.installationID
            try TestNotification.check(
                request,
                try InstallationRow.find(id, in: connection),
                by: caller
            )
            let recent = try connection.first(
                "SELECT COUNT(*) FROM tests WHERE installation_id = $1 AND created_at > $2",
                [
                    .text(id.text),
                    .int(now.adding(seconds: -TestNotification.lifetimeSeconds).seconds),
                ]
            ) { $0.int(0) }
            if recent ?? 0 >= TestNotification.mostAtOnce { throw RequestProblem.tooManyTests }
            let test = TestNotification(
                eventID: request.eventID,
                installationID: id,
                sessionID: caller.session.id,
                revision: request.expectedRevision,
                createdAt: now
            )
            try connection.execute(
                """
                INSERT INTO tests
                    (event_id, installation_id, session_id, revision, created_at, progress)
                VALUES ($1, $2, $3, $4, $5, 0)
                """,
                [
                    .text(test.eventID.description), .text(id.text),
                    .text(test.sessionID.text), .int(test.revision), .int(now.seconds),
                ]
            )
            return test
        }
    }

    package func test(_ id: EventID, of caller: Caller) async throws -> TestNotification? {
        try await database.read { connection in
            let test = try Self.test(id, in: connection)
            return test.flatMap { $0.belongs(to: caller) ? $0 : nil }
        }
    }

    package func unsentTests(limit: Int, now: UnixSeconds) async throws -> [TestNotification] {
        try await database.read { connection in
            try connection.query(
                """
                SELECT \(Self.testColumns) FROM tests
                WHERE progress = 0 AND created_at > $1 ORDER BY created_at LIMIT $2
                """,
                [
                    .int(now.adding(seconds: -TestNotification.lifetimeSeconds).seconds),
                    .int(limit),
                ],
                Self.test
            ).compactMap(\.self)
        }
    }

    package func settleTest(
        _ id: EventID,
        _ progress: TestNotification.Progress
    ) async throws {
        let (code, reason): (Int64, String?) =
            switch progress {
            case .unsent: (0, nil)
            case .published: (1, nil)
            case .refused(let reason): (2, reason)
            }
        try await database.write { connection in
            try connection.execute(
                "UPDATE tests SET progress = $1, reason = $2 WHERE event_id = $3",
                [.int(code), .text(orNull: reason), .text(id.description)]
            )
        }
    }

    private static var testColumns: String {
        "event_id, installation_id, session_id, revision, created_at, progress, reason"
    }

    private static func test(
        _ id: EventID,
        in connection: Database.Connection
    ) throws -> TestNotification? {
        try connection.first(
            "SELECT \(testColumns) FROM tests WHERE event_id = $1",
            [.text(id.description)],
            test
        ) ?? nil
    }

    private static func test(_ row: Database.Connection.Row) -> TestNotification? {
        guard let id = EventID(row.text(0)) else { return nil }
        let progress: TestNotification.Progress =
            switch row.int(5) {
            case 0: .unsent
            case 1: .published
            default: .refused(reason: row.text(6))
            }
        return TestNotification(
            eventID: id,
            installationID: InstallationID(row.text(1)),
            sessionID: SessionID(row.text(2)),
            revision: row.int(3),
            createdAt: UnixSeconds(row.int(4)),
            progress: progress
        )
    }
}
