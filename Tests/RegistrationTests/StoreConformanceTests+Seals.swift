import Contracts
import RegistrationCore
import RegistrationService
import Testing

extension StoreConformanceTests {
    @Test(arguments: Implementation.allCases)
    func listsWhatIsSealedInPages(_ implementation: Implementation) async throws {
        try await implementation.run { store in
            for (index, name) in ["bob", "alice", "carol"].enumerated() {
                let caller = try await Self.signIn(store, name, tokens: UInt8(index + 1))
                if name == "carol" { continue }
                try await Self.register(store, caller, token: "aa0\(index)")
                let secret = Self.blob(5, UInt8(index))
                _ = try await store.changeTOTP(
                    of: .username(name),
                    secret: secret,
                    by: nil,
                    now: Self.start
                )
            }
            var places: [SealedSecret.Place] = []
            while true {
                let page = try await store.sealedSecrets(after: places.last, limit: 3)
                #expect(page.count <= 3)
                if page.isEmpty { break }
                places += page.map(\.place)
                for secret in page { #expect(!secret.sealed.bytes.isEmpty) }
            }
            #expect(
                places == [
                    .contentKey(InstallationID("phone-alice")),
                    .contentKey(InstallationID("phone-bob")),
                    .oneTimeCodes(username: "alice"),
                    .oneTimeCodes(username: "bob"),
                ]
            )
        }
    }

    @Test(arguments: Implementation.allCases)
    func resealsOnlyWhatHasNotChanged(_ implementation: Implementation) async throws {
        try await implementation.run { store in
            let caller = try await Self.signIn(store, "alice", tokens: 1)
            try await Self.register(store, caller, token: "aa01")
            _ = try await store.changeTOTP(
                of: .username("alice"),
                secret: Self.blob(5, 5),
                by: nil,
                now: Self.start
            )
            let old = try await store.sealedSecrets(after: nil, limit: 9)
            #expect(old.count == 2)
            #expect(old.first?.keyID == InstallationRuleTests.registration().keyID)
            let new = old.enumerated().map { index, secret in
                Resealing(old: secret, sealed: Self.blob(6, UInt8(index)))
            }
            // The account's secret changes in between.
            _ = try await store.changeTOTP(
                of: .username("alice"),
                secret: Self.blob(5, 6),
                by: nil,
                now: Self.start
            )
            #expect(try await store.reseal(new) == 1)
            let now = try await store.sealedSecrets(after: nil, limit: 9)
            #expect(now.map(\.sealed) == [Self.blob(6, 0), Self.blob(5, 6)])
            #expect(try await store.reseal(new) == 0)
            // A seal is nobody's revision and no queued message's concern.
            let page = AudiencePage(
                category: .alert,
                watermark: .max,
                audience: .everyone,
                after: nil,
                limit: 9
            )
            let rows = try await store.audience(page, now: Self.start).rows
            #expect(rows.first?.installation.revision == 2)
            #expect(rows.first?.installation.binding == 2)
        }
    }
}
