import Contracts
import FoundationEssentials
import Glibc
import PushBusCrypto
import RegistrationCore
import TestKit
import Testing

@testable import RegistrationService

/// The master key is replaced while the service works.
@Suite(.timeLimit(.minutes(2)))
struct MasterKeyRotationTests {
    private static let done = "master key replaced"

    private static func keyFile(_ directory: TemporaryDirectory) -> MasterKeyFile {
        MasterKeyFile(path: directory.file("registration.db.key"))
    }

    private static func bytes(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: path)))
    }

    private static func phones(_ world: RegistrationWorld, _ count: Int) async throws -> [Phone] {
        try await world.addUser("alice", role: .admin)
        var phones: [Phone] = []
        for index in 0..<count {
            let phone = try await world.pair("alice", "phone-\(100 + index)")
            _ = try await phone.save(revision: 0, "enabled", "alerts")
            let key = Phone.key(UInt8(index))
            let token = "aa\(100 + index)0"
            #expect(try await phone.register(revision: 1, token: token, key: key).status == 200)
            phones.append(phone)
        }
        return phones
    }

    private static func expectKeys(_ world: RegistrationWorld, _ count: Int) async throws {
        let recipients = try await world.audience().recipients
        let keys = (0..<count).map { ContentKey([UInt8](repeating: UInt8($0), count: 32)) }
        #expect(recipients.map(\.contentKey) == keys)
    }

    @Test func resealsKeysAndCodesUnderANewKey() async throws {
        try await RegistrationWorld.run { world in
            let file = Self.keyFile(world.directory)
            _ = try await Self.phones(world, 5)
            let on = try await world.ask(UserTOTPChange(username: "alice", enabled: true))
            let before = try Self.bytes(file.path)
            let begun = try await world.ask(MasterKeyRotate(begin: true))
            #expect(begun.trouble == nil)
            await world.logs.wait(for: Self.done)
            let after = try Self.bytes(file.path)
            #expect(after != before)
            #expect(after.count == 32)
            var status = stat()
            #expect(stat(file.path, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
            #expect(access(file.nextPath, F_OK) != 0)
            let answer = try await world.ask(MasterKeyRotate(begin: false))
            #expect(answer == MasterKeyRotateAnswer(running: false, resealed: 6, unreadable: 0))
            try await Self.expectKeys(world, 5)
            let code = try RecoveryTests.code(world, try #require(on.uri).text)
            #expect(try await RecoveryTests.login(world, code: code).status == 200)
        } again: { world in
            try await Self.expectKeys(world, 5)
            let lines = world.logs.lines.joined()
            #expect(!lines.contains("content key unreadable"))
        }
    }

    @Test func anInterruptedRotationGoesOnAtTheNextStart() async throws {
        try await RegistrationWorld.run { world in
            _ = try await Self.phones(world, 4)
        } between: { directory in
            // The process ended after the new key was made, and after it had sealed one of them.
            let file = Self.keyFile(directory)
            let old = try file.readOrCreate()
            let new = try file.readOrCreateNext()
            let vault = ContentKeyVault(master: new, previous: old)
            let store = try await SQLiteRegistrationStore.open(
                path: directory.file("registration.db")
            ) { SHA256.hash($0) }
            let first = try #require(try await store.sealedSecrets(after: nil, limit: 1).first)
            let sealed = try #require(try vault.reseal(first))
            #expect(try await store.reseal([Resealing(old: first, sealed: sealed)]) == 1)
            await store.close()
        } again: { world in
            await world.logs.wait(for: Self.done)
            #expect(access(Self.keyFile(world.directory).nextPath, F_OK) != 0)
            let answer = try await world.ask(MasterKeyRotate(begin: false))
            #expect(answer == MasterKeyRotateAnswer(running: false, resealed: 3, unreadable: 0))
            try await Self.expectKeys(world, 4)
        }
    }

    @Test func registrationsDuringARotationAreNotLost() async throws {
        try await RegistrationWorld.run { world in
            let phones = try await Self.phones(world, 8)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for _ in 0..<6 {
                        _ = try await world.ask(MasterKeyRotate(begin: true))
                        while try await world.ask(MasterKeyRotate(begin: false)).running {}
                    }
                }
                for (index, phone) in phones.enumerated() {
                    group.addTask {
                        for round in 0..<12 {
                            let key = round < 11 ? UInt8(100 + round) : UInt8(index)
                            let reply = try await phone.register(
                                revision: Int64(2 + round),
                                token: "aa\(100 + index)0",
                                key: Phone.key(key)
                            )
                            #expect(reply.status == 200)
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await Self.expectKeys(world, 8)
        } again: { world in
            try await Self.expectKeys(world, 8)
            #expect(!world.logs.lines.joined().contains("content key unreadable"))
        }
    }

    @Test func saysWhatIsInTheWayAndTriesAgain() async throws {
        try await RegistrationWorld.run { world in
            _ = try await Self.phones(world, 2)
            let file = Self.keyFile(world.directory)
            try #require(mkdir(file.nextPath, 0o700) == 0)
            _ = try await world.ask(MasterKeyRotate(begin: true))
            await world.logs.wait(for: "master key not replaced yet")
            let stuck = try await world.ask(MasterKeyRotate(begin: true))
            #expect(stuck.running)
            #expect(stuck.trouble?.contains(file.nextPath) == true)
            try #require(rmdir(file.nextPath) == 0)
            // Housekeeping sleeps too.
            await world.time.waitForSleepers(2)
            world.time.advance(by: .seconds(60))
            await world.logs.wait(for: Self.done)
            try await Self.expectKeys(world, 2)
        }
    }

    @Test func aKeyIsNotGivenUpWhileARequestSealsWithIt() async throws {
        let vault = ContentKeyVault(master: SecretBytes([UInt8](repeating: 1, count: 32)))
        let id = try #require(KeyID(Phone.keyID))
        let phone = InstallationID("phone")
        let key = try #require(ContentKey([UInt8](repeating: 7, count: 32)))
        let sealed = try await vault.sealing { sealer in
            #expect(!vault.isPreviousInUse)
            vault.replace(by: SecretBytes([UInt8](repeating: 2, count: 32)))
            #expect(vault.isPreviousInUse)
            return try sealer.seal(key, id: id, of: phone)
        }
        #expect(!vault.isPreviousInUse)
        #expect(try vault.open(sealed, id: id, of: phone) == key)
        let secret = SealedSecret(place: .contentKey(phone), keyID: id, sealed: sealed)
        let renewed = try #require(try vault.reseal(secret))
        let again = SealedSecret(place: .contentKey(phone), keyID: id, sealed: renewed)
        #expect(try vault.reseal(again) == nil)
        vault.replace(by: SecretBytes([UInt8](repeating: 3, count: 32)))
        #expect(throws: ContentKeyVault.Unreadable.self) {
            try vault.open(sealed, id: id, of: phone)
        }
        #expect(throws: ContentKeyVault.Unreadable.self) { try vault.reseal(secret) }
        #expect(try vault.open(renewed, id: id, of: phone) == key)
    }
}
