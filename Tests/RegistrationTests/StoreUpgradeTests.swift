import Contracts
import PushBusCrypto
import RegistrationCore
import RegistrationService
import Storage
import TestKit
import Testing

/// A file of every earlier version opens with all that it holds.
@Suite(.timeLimit(.minutes(2)))
struct StoreUpgradeTests {
    private static let now = UnixSeconds(1_800_000_000)

    /// A row of each table that the first version had.
    private static func fill(_ connection: SQLiteConnection) throws {
        let end = now.seconds + 1000
        for statement in [
            """
            INSERT INTO accounts (user_id, username, password_hash, role, created_at)
            VALUES ('u1', 'alice', 'hash', 'admin', 1)
            """,
            """
            INSERT INTO sessions (session_id, user_id, installation_id, device_name, created_at,
                expires_at, last_seen_at, access_hash, access_expires_at, refresh_hash)
            VALUES ('s1', 'u1', 'phone', 'Phone', 2, \(end), 3, x'0100', \(end), x'0101')
            """,
            "INSERT INTO pairing_codes (code_hash, user_id, expires_at) VALUES (x'0909', 'u1', \(end))",
            "UPDATE binding_counter SET value = 7",
            """
            INSERT INTO installations (installation_id, user_id, revision, binding, bound_at_ms,
                enabled, alerts, security, task_failure, task_success, since_alerts,
                since_security, since_task_failure, since_task_success, session_id,
                deployment_id, device_token, environment, key_id, key_digest, sealed_key,
                confirmed_at_ms)
            VALUES ('phone', 'u1', 5, 7, 0, 1, 1, 0, 0, 0, 6, 0, 0, 0, 's1', 'https://a.example',
                'aa11', 'sandbox', '\(Phone.keyID)', x'01', x'02', 9)
            """,
            """
            INSERT INTO tests (event_id, installation_id, session_id, revision, created_at, progress)
            VALUES ('11111111-1111-4111-8111-111111111111', 'phone', 's1', 5, \(now.seconds), 0)
            """,
        ] {
            try connection.execute(statement)
        }
    }

    @Test(arguments: 1...RegistrationSchema.migrations.count)
    func keepsEverything(_ version: Int) async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("registration.db")
        let old = try await SQLiteDatabase.open(
            path: path,
            migrations: Array(RegistrationSchema.migrations.prefix(version))
        )
        try await old.write { try Self.fill($0) }
        await old.close()
        let store = try await SQLiteRegistrationStore.open(path: path) { SHA256.hash($0) }
        let now = Self.now
        let stored = try #require(try await store.account(.username("alice")))
        #expect(stored.account == Account(id: UserID("u1"), username: "alice", role: .admin))
        #expect(stored.passwordHash == "hash")
        #expect(stored.totpSecret == nil)
        let caller = try #require(try await store.caller(accessHash: Blob([1, 0]), now: now))
        #expect(caller.session.id == SessionID("s1"))
        #expect(try await store.owner(refreshHash: Blob([1, 1]), now: now) == UserID("u1"))
        #expect(try await store.watermark() == 7)
        let view = try await store.settings(of: caller, now: now)
        #expect(view.registered)
        #expect(view.revision == 5)
        #expect(view.preferences == Preferences(enabled: true, alerts: true))
        let check = EligibilityCheck.Check(
            installationID: InstallationID("phone"),
            binding: 7,
            watermark: 7,
            category: .alert
        )
        let verdict = try await store.eligibility([check], now: now.start).first
        guard case .eligible(let target)? = verdict else {
            Issue.record("the phone does not receive any more")
            return
        }
        #expect(target.deviceToken.hex == "aa11")
        #expect(try await store.unsentTests(limit: 9, now: now).count == 1)
        #expect(try await store.generation() == StoreGeneration(number: 0, isBackup: false))
        let session = StoreConformanceTests.session("tablet", tokens: 9, at: now)
        #expect(try await store.openSession(session, by: .pairing(Blob([9, 9]))) != nil)
        #expect(try await store.revoke(SessionID("s1"), evidence: Blob([1, 1])) == .ended)
        await store.close()
    }
}
