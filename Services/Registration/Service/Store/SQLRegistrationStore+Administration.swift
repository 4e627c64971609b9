import Contracts
import RegistrationCore
import Storage

extension SQLRegistrationStore {
    package func accounts(
        after name: String?,
        limit: Int,
        now: UnixSeconds
    ) async throws -> (accounts: [AccountSummary], more: Bool) {
        try await database.read { connection in
            var rows = try connection.query(
                """
                SELECT a.user_id, a.username, a.role, a.created_at, (
                    SELECT COUNT(*) FROM sessions s
                    WHERE s.user_id = a.user_id AND s.expires_at > $1),
                    a.totp_secret IS NOT NULL
                FROM accounts a WHERE a.username > $2 ORDER BY a.username LIMIT $3
                """,
                [.int(now.seconds), .text(name ?? ""), .int(limit + 1)]
            ) { row in
                AccountSummary(
                    account: Account(
                        id: UserID(row.text(0)),
                        username: row.text(1),
                        role: Role(rawValue: row.text(2)) ?? .member
                    ),
                    createdAt: UnixSeconds(row.int(3)),
                    devices: row.int(4),
                    totp: row.bool(5)
                )
            }
            let more = rows.count > limit
            if more { rows.removeLast() }
            return (rows, more)
        }
    }

    package func changeRole(
        of account: AccountName,
        to role: Role,
        by caller: Caller?,
        now: UnixSeconds
    ) async throws -> (id: UserID, previous: Role)? {
        try await database.write(rows: 8) { connection in
            try Self.requireAdministrator(caller, now: now, in: connection)
            guard let (id, previous) = try Self.find(account, in: connection) else { return nil }
            guard role != previous else { return (id, previous) }
            try connection.execute(
                "UPDATE accounts SET role = $1 WHERE user_id = $2",
                [.text(role.rawValue), .text(id.text)]
            )
            let current = try Self.counter(in: connection)
            var counter = current
            for var installation in try Self.installations(of: id, in: connection) {
                let revision = installation.revision
                installation.roleChanged(from: previous, to: role, counter: &counter)
                guard installation.revision != revision else { continue }
                try InstallationRow.write(installation, in: connection)
            }
            if counter != current { try Self.save(counter, in: connection) }
            return (id, previous)
        }
    }

    package func changePassword(
        of account: AccountName,
        hash: String,
        by caller: Caller?,
        now: UnixSeconds
    ) async throws -> (id: UserID, sessionsEnded: Int)? {
        try await database.write(rows: 8) { connection in
            try Self.requireAdministrator(caller, now: now, in: connection)
            guard let (id, _) = try Self.find(account, in: connection) else { return nil }
            try connection.execute(
                "UPDATE accounts SET password_hash = $1 WHERE user_id = $2",
                [.text(hash), .text(id.text)]
            )
            return (id, try Self.endAll(of: id, now: now, in: connection))
        }
    }

    package func changeTOTP(
        of account: AccountName,
        secret: Blob?,
        by caller: Caller?,
        now: UnixSeconds
    ) async throws -> UserID? {
        try await database.write { connection in
            try Self.requireAdministrator(caller, now: now, in: connection)
            guard let (id, _) = try Self.find(account, in: connection) else { return nil }
            try connection.execute(
                "UPDATE accounts SET totp_secret = $1, totp_last_step = 0 WHERE user_id = $2",
                [.blob(orNull: secret?.bytes), .text(id.text)]
            )
            return id
        }
    }

    package func deleteAccount(
        _ account: AccountName,
        by caller: Caller?,
        now: UnixSeconds
    ) async throws -> (id: UserID, sessionsEnded: Int)? {
        try await database.write(rows: 8) { connection in
            try Self.requireAdministrator(caller, now: now, in: connection)
            guard let (id, _) = try Self.find(account, in: connection) else { return nil }
            let ended = try Self.endAll(of: id, now: now, in: connection)
            for var installation in try Self.installations(of: id, in: connection) {
                installation.ownerDeleted()
                try InstallationRow.write(installation, in: connection)
            }
            try connection.execute("DELETE FROM accounts WHERE user_id = $1", [.text(id.text)])
            return (id, ended)
        }
    }

    private static func find(
        _ account: AccountName,
        in connection: Database.Connection
    ) throws -> (UserID, Role)? {
        let (condition, name) = condition(account, place: 1)
        return try connection.first(
            "SELECT user_id, role FROM accounts WHERE \(condition)",
            [name]
        ) { (UserID($0.text(0)), Role(rawValue: $0.text(1)) ?? .member) }
    }

    private static func installations(
        of user: UserID,
        in connection: Database.Connection
    ) throws -> [Installation] {
        try connection.query(
            "SELECT \(InstallationRow.columns) FROM installations i WHERE i.user_id = $1",
            [.text(user.text)],
            InstallationRow.read
        )
    }

    /// Ends all sessions of an account and the codes that could open new ones; counts those that had
    /// not expired.
    private static func endAll(
        of user: UserID,
        now: UnixSeconds,
        in connection: Database.Connection
    ) throws -> Int {
        let sessions = try connection.query(
            "SELECT session_id, expires_at > $2 FROM sessions WHERE user_id = $1",
            [.text(user.text), .int(now.seconds)]
        ) { (id: SessionID($0.text(0)), isAlive: $0.bool(1)) }
        try endSessions(sessions.map(\.id), in: connection)
        try connection.execute("DELETE FROM pairing_codes WHERE user_id = $1", [.text(user.text)])
        try connection.execute("DELETE FROM recoveries WHERE user_id = $1", [.text(user.text)])
        return sessions.count(where: \.isAlive)
    }
}
