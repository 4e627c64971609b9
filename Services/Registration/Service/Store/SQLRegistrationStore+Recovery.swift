import Contracts
import RegistrationCore
import Storage

extension SQLRegistrationStore {
    /// The account a proof stands for; a pairing or one-time code is spent here.
    static func account(
        for proof: SessionProof,
        now: UnixSeconds,
        in connection: Database.Connection
    ) throws -> (UserID, Role)? {
        let userID: UserID
        switch proof {
        case .password(let id, let hash, let step):
            // Password and codes may have changed while they were being verified.
            let stands = try connection.execute(
                """
                UPDATE accounts SET totp_last_step = COALESCE($3, totp_last_step)
                WHERE user_id = $1 AND password_hash = $2
                    AND (totp_secret IS NULL) = ($3 IS NULL)
                    AND ($3 IS NULL OR totp_last_step < $3)
                """,
                [.text(id.text), .text(hash), .int(orNull: step)]
            )
            guard stands == 1 else { return nil }
            userID = id
        case .pairing(let hash):
            let owner = try connection.first(
                "SELECT user_id FROM pairing_codes WHERE code_hash = $1 AND expires_at > $2",
                [.blob(hash.bytes), .int(now.seconds)]
            ) { UserID($0.text(0)) }
            guard let owner else { return nil }
            try connection.execute(
                "DELETE FROM pairing_codes WHERE code_hash = $1",
                [.blob(hash.bytes)]
            )
            userID = owner
        }
        return try connection.first(
            "SELECT role FROM accounts WHERE user_id = $1",
            [.text(userID.text)]
        ) { (userID, Role(rawValue: $0.text(0)) ?? .member) }
    }

    package func openRecovery(
        _ hash: Blob,
        on installation: InstallationID,
        by proof: SessionProof,
        now: UnixSeconds
    ) async throws -> Recovery? {
        try await database.write(rows: 2) { connection in
            guard let (userID, _) = try Self.account(for: proof, now: now, in: connection) else {
                return nil
            }
            try connection.execute(
                """
                INSERT INTO recoveries (recovery_hash, user_id, installation_id, expires_at)
                VALUES ($1, $2, $3, $4)
                """,
                [
                    .blob(hash.bytes), .text(userID.text), .text(installation.text),
                    .int(now.adding(seconds: Recovery.lifetimeSeconds).seconds),
                ]
            )
            return Recovery(userID: userID, installationID: installation)
        }
    }

    package func recovery(_ hash: Blob, now: UnixSeconds) async throws -> Recovery? {
        try await database.read { connection in
            try connection.first(
                """
                SELECT user_id, installation_id FROM recoveries
                WHERE recovery_hash = $1 AND expires_at > $2
                """,
                [.blob(hash.bytes), .int(now.seconds)]
            ) { row in
                Recovery(
                    userID: UserID(row.text(0)),
                    installationID: InstallationID(row.text(1))
                )
            }
        }
    }

    package func sessions(of recovery: Recovery) async throws -> [Device] {
        try await database.read { connection in
            try connection.query(
                """
                SELECT session_id, installation_id, device_name, created_at, last_seen_at,
                    expires_at
                FROM sessions WHERE user_id = $1 AND installation_id = $2
                ORDER BY created_at DESC, session_id LIMIT 1000
                """,
                [.text(recovery.userID.text), .text(recovery.installationID.text)],
                Self.device
            )
        }
    }

    package func endSession(_ id: SessionID, of recovery: Recovery) async throws -> Bool {
        try await database.write(rows: 3) { connection in
            let known = try connection.first(
                """
                SELECT 1 FROM sessions
                WHERE session_id = $1 AND user_id = $2 AND installation_id = $3
                """,
                [
                    .text(id.text), .text(recovery.userID.text),
                    .text(recovery.installationID.text),
                ]
            ) { _ in true }
            guard known != nil,
                try Self.endRecoveries(
                    of: recovery.userID,
                    on: recovery.installationID,
                    in: connection
                ) > 0
            else { return false }
            try Self.endSessions([id], in: connection)
            return true
        }
    }

    /// Takes back the authorizations for an installation of an account; returns how many there were.
    @discardableResult
    static func endRecoveries(
        of user: UserID,
        on installation: InstallationID,
        in connection: Database.Connection
    ) throws -> Int {
        try connection.execute(
            "DELETE FROM recoveries WHERE user_id = $1 AND installation_id = $2",
            [.text(user.text), .text(installation.text)]
        )
    }
}
