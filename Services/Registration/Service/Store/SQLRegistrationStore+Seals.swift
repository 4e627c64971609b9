import Contracts
import RegistrationCore
import Storage

extension SQLRegistrationStore {
    package func sealedSecrets(
        after place: SealedSecret.Place?,
        limit: Int
    ) async throws -> [SealedSecret] {
        try await database.read { connection in
            var found: [SealedSecret] = []
            var username = ""
            switch place {
            case .oneTimeCodes(let name): username = name
            case .contentKey(let id): found = try Self.keys(after: id.text, limit, in: connection)
            case nil: found = try Self.keys(after: "", limit, in: connection)
            }
            let left = limit - found.count
            guard left > 0 else { return found }
            return try found
                + connection.query(
                    """
                    SELECT username, totp_secret FROM accounts
                    WHERE totp_secret IS NOT NULL AND username > $1 ORDER BY username LIMIT $2
                    """,
                    [.text(username), .int(left)]
                ) { row in
                    SealedSecret(
                        place: .oneTimeCodes(username: row.text(0)),
                        keyID: nil,
                        sealed: Blob(row.blob(1))
                    )
                }
        }
    }

    private static func keys(
        after id: String,
        _ limit: Int,
        in connection: Database.Connection
    ) throws -> [SealedSecret] {
        try connection.query(
            """
            SELECT installation_id, key_id, sealed_key FROM installations
            WHERE sealed_key IS NOT NULL AND installation_id > $1
            ORDER BY installation_id LIMIT $2
            """,
            [.text(id), .int(limit)]
        ) { row in
            SealedSecret(
                place: .contentKey(InstallationID(row.text(0))),
                keyID: KeyID(row.text(1)),
                sealed: Blob(row.blob(2))
            )
        }
    }

    package func reseal(_ changes: [Resealing]) async throws -> Int {
        try await database.write(rows: changes.count) { connection in
            try changes.reduce(0) { count, change in
                let seals: [SQLValue] = [
                    .blob(change.sealed.bytes), .blob(change.old.sealed.bytes),
                ]
                return switch change.old.place {
                case .contentKey(let id):
                    try count
                        + connection.execute(
                            """
                            UPDATE installations SET sealed_key = $1
                            WHERE installation_id = $3 AND sealed_key = $2
                            """,
                            seals + [.text(id.text)]
                        )
                case .oneTimeCodes(let name):
                    try count
                        + connection.execute(
                            """
                            UPDATE accounts SET totp_secret = $1
                            WHERE username = $3 AND totp_secret = $2
                            """,
                            seals + [.text(name)]
                        )
                }
            }
        }
    }
}
