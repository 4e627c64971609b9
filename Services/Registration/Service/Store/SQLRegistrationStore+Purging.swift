import Contracts
import RegistrationCore
import Storage

extension SQLRegistrationStore {
    /// Rows of a kind that one transaction takes.
    private static var batch: Int64 { 500 }

    package func purge(now: UnixSeconds) async throws -> Int {
        try await database.write(rows: 64) { connection in
            let gone = try Self.deleteOldSessions(now: now, in: connection)
            let forgotten = try Self.forgetExpiredRegistrations(now: now, in: connection)
            let tokens = try connection.execute(
                """
                UPDATE sessions SET access_hash = NULL WHERE session_id IN (
                    SELECT session_id FROM sessions
                    WHERE access_hash IS NOT NULL AND access_expires_at <= $1 LIMIT $2)
                """,
                [.int(now.seconds), .int(Self.batch)]
            )
            try connection.execute(
                "DELETE FROM recoveries WHERE expires_at <= $1",
                [.int(now.seconds)]
            )
            let codes = try connection.execute(
                "DELETE FROM pairing_codes WHERE expires_at <= $1",
                [.int(now.seconds)]
            )
            let day: Int64 = 86_400
            let tests = try connection.execute(
                "DELETE FROM tests WHERE created_at <= $1",
                [.int(now.adding(seconds: -TestNotification.lifetimeSeconds - day).seconds)]
            )
            let senders = try connection.execute(
                "DELETE FROM sender_totals WHERE seen_at_ms <= $1",
                [.int(now.adding(seconds: -7 * day).start.milliseconds)]
            )
            return gone + forgotten + tokens + codes + tests + senders
        }
    }

    private static func deleteOldSessions(
        now: UnixSeconds,
        in connection: Database.Connection
    ) throws -> Int {
        let end = now.adding(seconds: -Session.retentionSeconds)
        let old = try connection.query(
            "SELECT session_id FROM sessions WHERE expires_at <= $1 LIMIT $2",
            [.int(end.seconds), .int(batch)]
        ) { SessionID($0.text(0)) }
        try endSessions(old, in: connection)
        return old.count
    }

    /// An expired session stays to be found by who lost it, but what it registered does not.
    private static func forgetExpiredRegistrations(
        now: UnixSeconds,
        in connection: Database.Connection
    ) throws -> Int {
        let registered = try connection.query(
            """
            SELECT \(InstallationRow.columns) FROM installations i
            JOIN sessions s ON s.session_id = i.session_id
            WHERE s.expires_at <= $1 LIMIT $2
            """,
            [.int(now.seconds), .int(batch)],
            InstallationRow.read
        )
        for var installation in registered {
            installation.forgetRegistration()
            try InstallationRow.write(installation, in: connection)
        }
        return registered.count
    }
}
