import Contracts
import RegistrationCore
import Storage

/// What a row of `session_proofs` was made from.
enum ProofKind: Int64 {
    case askedFor = 0
    case usedToken = 1

    /// How many are kept of a session.
    var most: Int64 {
        switch self {
        case .askedFor: Revocation.mostProofs
        case .usedToken: Revocation.mostUsedTokens
        }
    }
}

extension SQLRegistrationStore {
    static func addProof(
        _ hash: Blob,
        kind: ProofKind,
        of session: SessionID,
        in connection: Database.Connection
    ) throws {
        let place: [SQLValue] = [.text(session.text), .int(kind.rawValue)]
        try connection.execute(
            "INSERT INTO session_proofs (session_id, kind, proof_hash) VALUES ($1, $2, $3)",
            place + [.blob(hash.bytes)]
        )
        try connection.execute(
            """
            DELETE FROM session_proofs WHERE session_id = $1 AND kind = $2 AND seq NOT IN (
                SELECT seq FROM session_proofs WHERE session_id = $1 AND kind = $2
                ORDER BY seq DESC LIMIT $3)
            """,
            place + [.int(kind.most)]
        )
    }

    package func owner(refreshHash: Blob, now: UnixSeconds) async throws -> UserID? {
        try await database.read { connection in
            try connection.first(
                "SELECT user_id FROM sessions WHERE refresh_hash = $1 AND expires_at > $2",
                [.blob(refreshHash.bytes), .int(now.seconds)]
            ) { UserID($0.text(0)) }
        }
    }

    package func endSession(
        _ id: SessionID,
        of user: UserID,
        now: UnixSeconds
    ) async throws -> Bool {
        try await database.write(rows: 2) { connection in
            let known = try connection.first(
                """
                SELECT 1 FROM sessions
                WHERE session_id = $1 AND user_id = $2 AND expires_at > $3
                """,
                [.text(id.text), .text(user.text), .int(now.seconds)]
            ) { _ in true }
            guard known != nil else { return false }
            try Self.endSessions([id], in: connection)
            return true
        }
    }

    package func devices(of user: UserID, now: UnixSeconds) async throws -> [Device] {
        try await database.read { connection in
            try connection.query(
                """
                SELECT session_id, installation_id, device_name, created_at, last_seen_at,
                    expires_at
                FROM sessions WHERE user_id = $1 AND expires_at > $2
                ORDER BY created_at DESC, session_id LIMIT 1000
                """,
                [.text(user.text), .int(now.seconds)],
                Self.device
            )
        }
    }

    static func device(_ row: Database.Connection.Row) -> Device {
        Device(
            sessionID: SessionID(row.text(0)),
            installationID: InstallationID(row.text(1)),
            name: row.text(2),
            pairedAt: UnixSeconds(row.int(3)),
            lastActiveAt: UnixSeconds(row.int(4)),
            expiresAt: UnixSeconds(row.int(5))
        )
    }

    package func saveProof(_ hash: Blob, of caller: Caller, now: UnixSeconds) async throws {
        try await database.write(rows: 2) { connection in
            try Self.requireSession(caller, now: now, in: connection)
            try Self.addProof(hash, kind: .askedFor, of: caller.session.id, in: connection)
        }
    }

    package func revoke(
        _ id: SessionID,
        evidence: Blob
    ) async throws -> Revocation.Outcome {
        try await database.write(rows: 2) { connection in
            let known = try connection.first(
                """
                SELECT refresh_hash = $2 OR EXISTS (
                    SELECT 1 FROM session_proofs WHERE proof_hash = $2 AND session_id = $1)
                FROM sessions WHERE session_id = $1
                """,
                [.text(id.text), .blob(evidence.bytes)]
            ) { $0.bool(0) }
            guard let known else { return .absent }
            guard known else { return .refused }
            try Self.endSessions([id], in: connection)
            return .ended
        }
    }
}
