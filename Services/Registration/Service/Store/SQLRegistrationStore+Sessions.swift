import Contracts
import RegistrationCore
import Storage

extension SQLRegistrationStore {
    package func openSession(
        _ session: NewSession,
        by proof: SessionProof
    ) async throws -> Caller? {
        try await database.write(rows: 3) { connection in
            guard
                let (userID, role) = try Self.account(
                    for: proof,
                    now: session.createdAt,
                    in: connection
                )
            else {
                return nil
            }
            let installation = session.device.installationID
            try Self.endSessions(
                try connection.query(
                    "SELECT session_id FROM sessions WHERE installation_id = $1 AND user_id = $2",
                    [.text(installation.text), .text(userID.text)]
                ) { SessionID($0.text(0)) },
                in: connection
            )
            // What was authorized before is about the sessions of before.
            try Self.endRecoveries(of: userID, on: installation, in: connection)
            try connection.execute(
                """
                INSERT INTO sessions (session_id, user_id, installation_id, device_name,
                    created_at, expires_at, last_seen_at,
                    access_hash, access_expires_at, refresh_hash)
                VALUES ($1, $2, $3, $4, $5, $6, $5, $7, $8, $9)
                """,
                [
                    .text(session.id.text), .text(userID.text), .text(installation.text),
                    .text(session.device.name), .int(session.createdAt.seconds),
                    .int(session.expiresAt.seconds), .blob(session.tokens.access.bytes),
                    .int(session.accessExpiresAt.seconds), .blob(session.tokens.refresh.bytes),
                ]
            )
            let opened = Session(
                id: session.id,
                userID: userID,
                installationID: installation,
                deviceName: session.device.name,
                createdAt: session.createdAt,
                expiresAt: session.expiresAt,
                accessExpiresAt: session.accessExpiresAt
            )
            return Caller(session: opened, role: role)
        }
    }

    package func caller(accessHash: Blob, now: UnixSeconds) async throws -> Caller? {
        try await database.read { connection in
            try connection.first(
                """
                \(Self.callerQuery)
                WHERE s.access_hash = $1 AND s.access_expires_at > $2 AND s.expires_at > $2
                """,
                [.blob(accessHash.bytes), .int(now.seconds)],
                Self.caller
            )
        }
    }

    package func refresh(
        _ refreshHash: Blob,
        to tokens: TokenHashes,
        lifetimes: SessionLifetimes,
        now: UnixSeconds
    ) async throws -> Caller? {
        try await database.write(rows: 2) { connection in
            let found = try connection.first(
                "\(Self.callerQuery) WHERE s.refresh_hash = $1 AND s.expires_at > $2",
                [.blob(refreshHash.bytes), .int(now.seconds)],
                Self.caller
            )
            guard let found else { return nil }
            var session = found.session
            session.accessExpiresAt = lifetimes.accessEnd(now: now, sessionEnd: session.expiresAt)
            try Self.addProof(
                refreshHash,
                kind: .usedToken,
                of: session.id,
                in: connection
            )
            try connection.execute(
                """
                UPDATE sessions SET access_hash = $1, access_expires_at = $2, refresh_hash = $3,
                    last_seen_at = $4
                WHERE session_id = $5
                """,
                [
                    .blob(tokens.access.bytes), .int(session.accessExpiresAt.seconds),
                    .blob(tokens.refresh.bytes), .int(now.seconds), .text(session.id.text),
                ]
            )
            return Caller(session: session, role: found.role)
        }
    }

    package func endSession(_ id: SessionID) async throws {
        try await database.write(rows: 2) { connection in
            try Self.endSessions([id], in: connection)
        }
    }

    /// Deletes sessions and what they registered: later sends stop with this commit.
    static func endSessions(
        _ ids: [SessionID],
        in connection: Database.Connection
    ) throws {
        for id in ids {
            try connection.execute(
                "DELETE FROM session_proofs WHERE session_id = $1",
                [.text(id.text)]
            )
            try connection.execute(
                "DELETE FROM sessions WHERE session_id = $1",
                [.text(id.text)]
            )
            let registered = try connection.query(
                "SELECT \(InstallationRow.columns) FROM installations i WHERE i.session_id = $1",
                [.text(id.text)],
                InstallationRow.read
            )
            for var installation in registered {
                installation.forgetRegistration()
                try InstallationRow.write(installation, in: connection)
            }
        }
    }

    private static var callerQuery: String {
        """
        SELECT s.session_id, s.user_id, s.installation_id, s.device_name, s.created_at,
            s.expires_at, s.access_expires_at, a.role
        FROM sessions s JOIN accounts a ON a.user_id = s.user_id
        """
    }

    private static func caller(_ row: Database.Connection.Row) -> Caller {
        Caller(
            session: Session(
                id: SessionID(row.text(0)),
                userID: UserID(row.text(1)),
                installationID: InstallationID(row.text(2)),
                deviceName: row.text(3),
                createdAt: UnixSeconds(row.int(4)),
                expiresAt: UnixSeconds(row.int(5)),
                accessExpiresAt: UnixSeconds(row.int(6))
            ),
            role: Role(rawValue: row.text(7)) ?? .member
        )
    }
}
