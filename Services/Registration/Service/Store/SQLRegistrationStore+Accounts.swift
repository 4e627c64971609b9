import Contracts
import RegistrationCore
import Storage

extension SQLRegistrationStore {
    package func addAccount(
        _ account: Account,
        passwordHash: String,
        by caller: Caller?,
        now: UnixSeconds
    ) async throws -> (id: UserID, added: Bool) {
        try await database.write { connection in
            try Self.requireAdministrator(caller, now: now, in: connection)
            let known = try connection.first(
                "SELECT user_id FROM accounts WHERE username = $1",
                [.text(account.username)]
            ) { UserID($0.text(0)) }
            if let known { return (known, false) }
            try connection.execute(
                """
                INSERT INTO accounts (user_id, username, password_hash, role, created_at)
                VALUES ($1, $2, $3, $4, $5)
                """,
                [
                    .text(account.id.text), .text(account.username), .text(passwordHash),
                    .text(account.role.rawValue), .int(now.seconds),
                ]
            )
            return (account.id, true)
        }
    }

    package func account(_ name: AccountName) async throws -> StoredAccount? {
        try await database.read { connection in
            let (condition, value) = Self.condition(name, place: 1)
            return try connection.first(
                """
                SELECT user_id, username, role, password_hash, totp_secret, totp_last_step
                FROM accounts WHERE \(condition)
                """,
                [value]
            ) { row in
                StoredAccount(
                    account: Account(
                        id: UserID(row.text(0)),
                        username: row.text(1),
                        role: Role(rawValue: row.text(2)) ?? .member
                    ),
                    passwordHash: row.text(3),
                    totpSecret: row.isNull(4) ? nil : Blob(row.blob(4)),
                    totpLastStep: row.int(5)
                )
            }
        }
    }

    package func savePairingCode(
        _ hash: Blob,
        for account: AccountName,
        expiresAt: UnixSeconds,
        by caller: Caller?,
        now: UnixSeconds
    ) async throws -> Bool {
        try await database.write { connection in
            if let caller, account == .id(caller.session.userID) {
                try Self.requireSession(caller, now: now, in: connection)
            } else {
                try Self.requireAdministrator(caller, now: now, in: connection)
            }
            let (condition, name) = Self.condition(account, place: 3)
            return try connection.execute(
                """
                INSERT INTO pairing_codes (code_hash, user_id, expires_at)
                SELECT $1, user_id, $2 FROM accounts WHERE \(condition)
                """,
                [.blob(hash.bytes), .int(expiresAt.seconds), name]
            ) == 1
        }
    }

    static func condition(_ account: AccountName, place: Int) -> (String, SQLValue) {
        switch account {
        case .username(let name): ("username = $\(place)", .text(name))
        case .id(let id): ("user_id = $\(place)", .text(id.text))
        }
    }
}
