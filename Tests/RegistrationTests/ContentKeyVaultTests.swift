import Contracts
import Glibc
import PushBusCrypto
import TestKit
import Testing

@testable import RegistrationService

@Suite
struct ContentKeyVaultTests {
    @Test func opensOnlyWhatItSealedForThatInstallation() async throws {
        let vault = ContentKeyVault(master: SecretBytes([UInt8](repeating: 1, count: 32)))
        let other = ContentKeyVault(master: SecretBytes([UInt8](repeating: 2, count: 32)))
        let key = try #require(ContentKey([UInt8](repeating: 7, count: 32)))
        let id = try #require(KeyID(Phone.keyID))
        let phone = InstallationID("phone")
        let sealed = try await vault.sealing { try $0.seal(key, id: id, of: phone) }
        #expect(try vault.open(sealed, id: id, of: phone) == key)
        #expect(try await vault.sealing { try $0.seal(key, id: id, of: phone) } != sealed)
        #expect(throws: ContentKeyVault.Unreadable.self) {
            try vault.open(sealed, id: id, of: InstallationID("other"))
        }
        #expect(throws: ContentKeyVault.Unreadable.self) {
            try other.open(sealed, id: id, of: phone)
        }
        #expect(throws: ContentKeyVault.Unreadable.self) {
            try vault.open(Blob([1, 2, 3]), id: id, of: phone)
        }
        #expect(
            ContentKeyVault.digest(key, id: id) == ContentKeyVault.digest(key, id: id)
        )
    }

    @Test func makesAMasterKeyOnce() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("master.key")
        let file = MasterKeyFile(path: path)
        let first = try file.readOrCreate().withBytes { Array($0) }
        let second = try file.readOrCreate().withBytes { Array($0) }
        #expect(first == second)
        #expect(first.count == 32)
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        chmod(path, 0o640)
        #expect(throws: MasterKeyFile.Failure.self) { try file.readOrCreate() }
    }
}
