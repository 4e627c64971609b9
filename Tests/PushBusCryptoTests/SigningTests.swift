import PushBusCrypto
import Testing

@Suite("ES256, provider tokens and certificates")
struct SigningTests {
    @Test("A signature has 64 bytes and verifies in both encodings")
    func signature() throws {
        let key = try ES256PrivateKey.generate()
        let message = Array("message".utf8)
        let raw = try key.sign(message)
        #expect(raw.count == 64)
        #expect(key.publicKey.verify(raw, of: message))
        #expect(key.publicKey.verify(try ECDSASignature(raw: raw).der, of: message))
        #expect(key.publicKey.verify(try key.signDER(message), of: message))
        var changed = raw
        changed[63] ^= 1
        #expect(!key.publicKey.verify(changed, of: message))
        #expect(!key.publicKey.verify(raw, of: message + [0]))
        #expect(!key.publicKey.verify([], of: message))
        #expect(!(try ES256PrivateKey.generate()).publicKey.verify(raw, of: message))
    }

    @Test("Raw and DER are two forms of one value, short numbers included")
    func conversion() throws {
        let key = try ES256PrivateKey.generate()
        for index in 0..<64 {
            let der = try key.signDER([UInt8(index)])
            let signature = try ECDSASignature(der: der)
            #expect(try signature.der == der)
        }
        var small = [UInt8](repeating: 0, count: 64)
        small[31] = 1
        small[63] = 0x80
        #expect(try ECDSASignature(raw: small).der == [0x30, 7, 2, 1, 1, 2, 2, 0, 0x80])
        #expect(try ECDSASignature(der: [0x30, 7, 2, 1, 1, 2, 2, 0, 0x80]).raw == small)
        #expect(throws: CryptoError.self) { try ECDSASignature(der: [0x30, 3, 2, 1, 1]) }
        #expect(throws: CryptoError.self) {
            try ECDSASignature(der: [0x30, 7, 2, 1, 1, 2, 2, 0, 0x80, 0])
        }
        #expect(throws: CryptoError.self) { try ECDSASignature(raw: [1]) }
    }

    @Test("A private key survives its PEM form")
    func privateKeyPEM() throws {
        let key = try ES256PrivateKey.generate()
        let pem = try key.pem()
        pem.withBytes { bytes in
            #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("-----BEGIN PRIVATE KEY-----"))
        }
        let again = try ES256PrivateKey(pem: pem)
        #expect(key.publicKey.verify(try again.sign([1]), of: [1]))
        let publicKey = try ES256PublicKey(pem: key.publicKey.pem())
        #expect(publicKey.verify(try key.sign([2]), of: [2]))
    }

    @Test(
        "Anything but a P-256 private key is refused",
        arguments: [
            "", "garbage",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            // A valid Ed25519 key.
            """
            -----BEGIN PRIVATE KEY-----
            MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
            -----END PRIVATE KEY-----

            """,
        ]
    )
    func notAKey(text: String) {
        let error = #expect(throws: CryptoError.self) {
            try ES256PrivateKey(pem: SecretBytes(Array(text.utf8)))
        }
        #expect(error?.code == .invalidKey)
    }

    @Test("A provider token says alg, kid, iss and iat and verifies")
    func providerToken() throws {
        let key = try ES256PrivateKey.generate()
        let token = try ProviderToken.sign(
            key: key,
            keyID: "ABCDEFGHIJ",
            teamID: "0123456789",
            issuedAtSeconds: 2_000_000_000
        )
        let received = try #require(ReceivedProviderToken(compact: token.compact))
        #expect(
            String(decoding: received.header, as: UTF8.self)
                == #"{"alg":"ES256","kid":"ABCDEFGHIJ"}"#
        )
        #expect(
            String(decoding: received.claims, as: UTF8.self)
                == #"{"iss":"0123456789","iat":2000000000}"#
        )
        #expect(received.hasRawSignature)
        #expect(received.isSigned(by: key.publicKey))
        #expect(!received.isSigned(by: try ES256PrivateKey.generate().publicKey))
    }

    @Test(
        "Text that is no token is nil",
        arguments: ["", "a.b", "..", "a.b.c.d", "e30.e30.", "e30.e3=.AA"]
    )
    func noToken(text: String) {
        #expect(ReceivedProviderToken(compact: text) == nil)
    }

    @Test("A CA issues certificates and can be opened again")
    func authority() throws {
        let authority = try CertificateAuthority(name: "Test CA", nowSeconds: 2_000_000_000)
        let again = try CertificateAuthority(
            certificatePEM: authority.certificatePEM,
            privateKeyPEM: authority.privateKeyPEM()
        )
        let server = try again.issue(
            hosts: ["localhost", "127.0.0.1", "::1"],
            notBeforeSeconds: 1_999_999_000,
            notAfterSeconds: 2_000_001_000
        )
        #expect(
            String(decoding: server.certificatePEM, as: UTF8.self)
                .hasPrefix("-----BEGIN CERTIFICATE-----")
        )
        _ = try ES256PrivateKey(pem: server.privateKeyPEM)
        let other = try CertificateAuthority(name: "Other", nowSeconds: 2_000_000_000)
        #expect(throws: CryptoError.self) {
            try CertificateAuthority(
                certificatePEM: authority.certificatePEM,
                privateKeyPEM: other.privateKeyPEM()
            )
        }
    }

    @Test("Hosts cannot smuggle extensions", arguments: ["a,DNS:b", "a b", "", "a\nb", "*.x"])
    func hostNames(host: String) throws {
        let authority = try CertificateAuthority(name: "Test CA", nowSeconds: 2_000_000_000)
        #expect(throws: CryptoError.self) {
            try authority.issue(hosts: [host], notBeforeSeconds: 0, notAfterSeconds: 1)
        }
    }

    @Test("Passwords verify, wrong ones and broken hashes do not")
    func passwords() async throws {
        let password = SecretBytes(Array("correct horse".utf8))
        let hash = try await PasswordHash.hash(password, cost: .test)
        #expect(hash.hasPrefix("$argon2id$v=19$m=8,t=1,p=1$"))
        #expect(await PasswordHash.verify(password, against: hash))
        #expect(!(await PasswordHash.verify(SecretBytes(Array("wrong".utf8)), against: hash)))
        #expect(!(await PasswordHash.verify(SecretBytes([UInt8]()), against: hash)))
        #expect(!(await PasswordHash.verify(password, against: "")))
        #expect(!(await PasswordHash.verify(password, against: "$argon2id$broken")))
        #expect(try await PasswordHash.hash(password, cost: .test) != hash)
        await PasswordHash.verifyDummy(password, cost: .test)
        let empty = try await PasswordHash.hash(SecretBytes([UInt8]()), cost: .test)
        #expect(await PasswordHash.verify(SecretBytes([UInt8]()), against: empty))
    }
}
