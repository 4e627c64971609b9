import Contracts
import FoundationEssentials
import TestKit
import Testing

/// What is on disk: hashes and seals only.
@Suite(.timeLimit(.minutes(2)))
struct StoredSecretTests {
    /// Secrets by name, as bytes that would be in a file if they were stored in clear.
    private typealias Secrets = [String: [UInt8]]

    private static func contains(_ haystack: [UInt8], _ needle: [UInt8]) -> Bool {
        guard let first = needle.first else { return true }
        var start = haystack.startIndex
        while let found = haystack[start...].firstIndex(of: first) {
            if haystack[found...].starts(with: needle) { return true }
            start = found + 1
        }
        return false
    }

    @Test func noFileHoldsASecretInClear() async throws {
        let used = Observed<Secrets>([:])
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice", token: "aa11bb22cc33")
            let renewed = try await phone.refreshed()
            let proof = try await renewed.proof(of: renewed.session.string("session_id"))
            let code = try await world.ask(PairingCreate(username: "alice")).code.text
            let on = try await world.ask(UserTOTPChange(username: "alice", enabled: true))
            let uri = try #require(on.uri).text
            let secret = uri.split(separator: "secret=").last?.prefix { $0 != "&" } ?? ""
            let opened = try await world.call(
                "POST",
                "/auth/recovery",
                """
                {"username":"alice","password":"correct horse","installation_id":"p",\
                "one_time_code":"\(RecoveryTests.code(world, uri))"}
                """
            )
            used.update { secrets in
                secrets["content key"] = [UInt8](repeating: 7, count: 32)
                secrets["one-time secret"] = RecoveryTests.bytes(base32: secret)
                for (name, text) in [
                    "password": "correct horse",
                    "access token": renewed.accessToken,
                    "used refresh token": phone.refreshToken,
                    "refresh token": renewed.refreshToken,
                    "proof": proof.string("proof"),
                    "pairing code": code,
                    "recovery token": opened.string("recovery_token"),
                ] {
                    secrets[name] = Array(text.utf8)
                }
            }
        } between: { directory in
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            let files = try names.filter { $0.hasPrefix("registration.db") }.map { name in
                [UInt8](try Data(contentsOf: URL(filePath: directory.file(name))))
            }
            #expect(used.value.count == 9)
            for (name, secret) in used.value {
                #expect(secret.count >= 13, "\(name)")
                #expect(!files.contains { Self.contains($0, secret) }, "\(name)")
            }
            // The search finds what is there: the device token has to be stored as it is.
            #expect(files.contains { Self.contains($0, Array("aa11bb22cc33".utf8)) })
        } again: { _ in
        }
    }
}
