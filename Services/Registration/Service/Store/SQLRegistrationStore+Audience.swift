import Contracts
import RegistrationCore
import Storage

extension SQLRegistrationStore {
    package func watermark() async throws -> Int64 {
        try await database.read { try Self.counter(in: $0).value }
    }

    package func audience(_ page: AudiencePage, now: UnixSeconds) async throws -> AudienceRows {
        try await database.read { connection in
            var conditions = ["i.installation_id > $2"]
            var bindings: [SQLValue] = [.int(now.seconds), .text(page.after?.text ?? "")]
            if let user = page.audience.userID {
                bindings.append(.text(user.text))
                conditions.append("i.user_id = $\(bindings.count)")
            }
            if let installation = page.audience.installationID {
                bindings.append(.text(installation.text))
                conditions.append("i.installation_id = $\(bindings.count)")
            }
            bindings.append(.int(page.limit + 1))
            var rows = try connection.query(
                """
                \(InstallationCandidate.query) WHERE \(conditions.joined(separator: " AND "))
                ORDER BY i.installation_id LIMIT $\(bindings.count)
                """,
                bindings,
                InstallationCandidate.init
            )
            let more = rows.count > page.limit
            if more { rows.removeLast() }
            return AudienceRows(
                rows: rows.map { ($0.installation, $0.standing) },
                more: more
            )
        }
    }

    package func eligibility(
        _ checks: [EligibilityCheck.Check],
        now: UnixMilliseconds
    ) async throws -> [EligibilityCheckAnswer.Verdict] {
        try await database.read { connection in
            let found = try Self.candidates(
                checks.map(\.installationID),
                now: now.second,
                in: connection
            )
            return zip(checks, found).map { check, candidate in
                Eligibility.verdict(
                    check,
                    candidate?.installation,
                    candidate?.standing ?? Eligibility.Standing(role: nil, sessionIsAlive: false),
                    now: now
                )
            }
        }
    }

    // MARK: Clean-up

    package func clean(
        _ cleanup: RegistrationCleanup,
        now: UnixMilliseconds
    ) async throws -> CleanupReport {
        try await database.write(rows: cleanup.items.count + 2) { [hash] connection in
            var guarded: Set<APNsEnvironment> = []
            for environment in APNsEnvironment.allCases {
                if let totals = cleanup.totals[environment.rawValue] {
                    try Self.count(
                        totals,
                        of: cleanup.processID,
                        environment,
                        now: now,
                        in: connection
                    )
                }
                let sum = try Self.recentVerdicts(environment, now: now, in: connection)
                if MassFailureGuard.stands(sum) { guarded.insert(environment) }
            }
            let results = try cleanup.items.map { item in
                try Self.apply(item, guarded: guarded, hash: hash, in: connection)
            }
            return CleanupReport(results: results, guarded: guarded)
        }
    }

    private static func apply(
        _ item: RegistrationCleanup.Item,
        guarded: Set<APNsEnvironment>,
        hash: ([UInt8]) -> [UInt8],
        in connection: Database.Connection
    ) throws -> CleanupResult {
        guard var installation = try InstallationRow.find(item.installationID, in: connection),
            let registration = installation.registration
        else { return .stale }
        let tokenHash = Blob(hash(Array(registration.token.hex.utf8)))
        let decision = Cleanup.decide(item, installation, tokenHash: tokenHash)
        if decision == .stale { return .stale }
        if guarded.contains(registration.environment) { return .held }
        switch decision {
        case .stale: return .stale
        case .forget: installation.forgetRegistration()
        case .doubt(let kind):
            installation.registration?.doubt = kind
            installation.revision += 1
        }
        try InstallationRow.write(installation, in: connection)
        return .applied
    }

    /// Adds what is new in a sender's totals to the current step of the window.
    private static func count(
        _ totals: RegistrationCleanup.Totals,
        of process: String,
        _ environment: APNsEnvironment,
        now: UnixMilliseconds,
        in connection: Database.Connection
    ) throws {
        let sender: [SQLValue] = [.text(process), .text(environment.rawValue)]
        let seen = try connection.first(
            """
            SELECT verdicts, dead, suspect, topic FROM sender_totals
            WHERE process_id = $1 AND environment = $2
            """,
            sender
        ) { row in
            RegistrationCleanup.Totals(
                verdicts: row.int(0),
                dead: row.int(1),
                suspect: row.int(2),
                topic: row.int(3)
            )
        }
        let new = MassFailureGuard.difference(from: seen ?? .init(), to: totals)
        // Repeats and late arrivals: totals only grow, so smaller ones were overtaken.
        guard seen.map({ $0.verdicts <= totals.verdicts }) ?? true else { return }
        try connection.execute(
            """
            INSERT INTO sender_totals
                (process_id, environment, verdicts, dead, suspect, topic, seen_at_ms)
            VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (process_id, environment)
            DO UPDATE SET verdicts = excluded.verdicts, dead = excluded.dead,
                suspect = excluded.suspect, topic = excluded.topic,
                seen_at_ms = excluded.seen_at_ms
            """,
            sender + [
                .int(totals.verdicts), .int(totals.dead), .int(totals.suspect),
                .int(totals.topic), .int(now.milliseconds),
            ]
        )
        guard new.verdicts > 0 || new.failures > 0 else { return }
        try connection.execute(
            """
            INSERT INTO verdict_steps (environment, step, verdicts, failures)
            VALUES ($1, $2, $3, $4)
            ON CONFLICT (environment, step) DO UPDATE SET
                verdicts = verdict_steps.verdicts + excluded.verdicts,
                failures = verdict_steps.failures + excluded.failures
            """,
            [
                .text(environment.rawValue),
                .int(now.milliseconds / MassFailureGuard.stepMilliseconds),
                .int(new.verdicts), .int(new.failures),
            ]
        )
    }

    private static func recentVerdicts(
        _ environment: APNsEnvironment,
        now: UnixMilliseconds,
        in connection: Database.Connection
    ) throws -> MassFailureGuard.Sum {
        let begin = now.milliseconds - MassFailureGuard.windowMilliseconds
        let step = begin / MassFailureGuard.stepMilliseconds
        let bindings: [SQLValue] = [.text(environment.rawValue), .int(step)]
        try connection.execute(
            "DELETE FROM verdict_steps WHERE environment = $1 AND step <= $2",
            bindings
        )
        return try connection.first(
            """
            SELECT COALESCE(SUM(verdicts), 0), COALESCE(SUM(failures), 0) FROM verdict_steps
            WHERE environment = $1 AND step > $2
            """,
            bindings
        ) { MassFailureGuard.Sum(verdicts: $0.int(0), failures: $0.int(1)) } ?? .init()
    }
}
