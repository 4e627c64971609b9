import RegistrationCore
import Storage

extension SQLRegistrationStore {
    package func generation() async throws -> StoreGeneration {
        let found = try await database.read { connection in
            try connection.first("SELECT number, is_backup FROM generation WHERE id = 1") { row in
                StoreGeneration(number: row.int(0), isBackup: row.bool(1))
            }
        }
        guard let found else {
            throw StorageError(.corrupt, "the generation is missing; restore a backup")
        }
        return found
    }

    @discardableResult
    package func begin(generation: Int64, anew: Bool) async throws -> Int {
        try await database.write(rows: 64) { connection in
            try connection.execute(
                "UPDATE generation SET number = $1, is_backup = 0 WHERE id = 1",
                [.int(generation)]
            )
            try Self.markHome(in: connection)
            guard anew else { return 0 }
            for table in ["session_proofs", "pairing_codes", "recoveries", "tests"] {
                try connection.execute("DELETE FROM \(table)")
            }
            try connection.execute(
                """
                UPDATE installations SET revision = revision + 1, session_id = NULL,
                    deployment_id = NULL, device_token = NULL, environment = NULL, key_id = NULL,
                    key_digest = NULL, sealed_key = NULL, confirmed_at_ms = NULL, doubt = NULL
                """
            )
            let counter = try Self.counter(in: connection)
            try Self.save(
                BindingCounter(counter.value + StoreGeneration.counterJump),
                in: connection
            )
            return try connection.execute("DELETE FROM sessions")
        }
    }

    package func probe() async throws {
        try await database.write { connection in
            try connection.execute("UPDATE generation SET number = number WHERE id = 1")
        }
    }
}
