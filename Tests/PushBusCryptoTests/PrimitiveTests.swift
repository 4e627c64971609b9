import Contracts
import PushBusCrypto
import Testing

@Suite("SHA-256, HMAC, AES-GCM, random and comparison")
struct PrimitiveTests {
    @Test("SHA-256 vectors of FIPS 180-4")
    func sha256() {
        #expect(
            SHA256.hex("abc")
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        )
        #expect(
            SHA256.hex([UInt8]())
                == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        )
        #expect(SHA256.hex(Array("abc".utf8)[...]) == SHA256.hex("abc"))
    }

    @Test("HMAC-SHA-256 vectors of RFC 4231")
    func hmac() {
        let first = HMACSHA256.code(
            for: "Hi There".utf8,
            key: [UInt8](repeating: 0x0b, count: 20)
        )
        #expect(
            Hex.encode(first) == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        )
        let second = HMACSHA256.code(for: "what do ya want for nothing?".utf8, key: "Jefe".utf8)
        #expect(
            Hex.encode(second)
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        )
        let empty = HMACSHA256.code(for: [], key: [])
        #expect(
            Hex.encode(empty) == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"
        )
    }

    @Test("AES-256-GCM test cases 13 to 16 of the GCM submission")
    func aesGCM() throws {
        let zeroKey = [UInt8](repeating: 0, count: 32)
        let zeroNonce = [UInt8](repeating: 0, count: 12)
        let empty = try AESGCM.seal([], key: zeroKey, nonce: zeroNonce, authenticating: [])
        #expect(Hex.encode(empty) == "530f8afbc74536b9a963b4f1c4cb738b")
        let block = try AESGCM.seal(
            [UInt8](repeating: 0, count: 16),
            key: zeroKey,
            nonce: zeroNonce,
            authenticating: []
        )
        #expect(
            Hex.encode(block) == "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"
        )
        let key = try #require(
            Hex.decode("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")
        )
        let nonce = try #require(Hex.decode("cafebabefacedbaddecaf888"))
        let plaintext = try #require(
            Hex.decode(
                "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                    + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
            )
        )
        let associated = try #require(Hex.decode("feedfacedeadbeeffeedfacedeadbeefabaddad2"))
        let sealed = try AESGCM.seal(
            plaintext,
            key: key,
            nonce: nonce,
            authenticating: associated
        )
        #expect(
            Hex.encode(sealed)
                == "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
                + "76fc6ece0f4e1768cddf8853bb2d551b"
        )
        let opened = try AESGCM.open(sealed, key: key, nonce: nonce, authenticating: associated)
        #expect(opened == plaintext)
    }

    @Test("Every flipped bit of ciphertext or tag is noticed")
    func aesGCMTampering() throws {
        let key = SecureRandom.bytes(32)
        let nonce = SecureRandom.bytes(12)
        let sealed = try AESGCM.seal([1, 2, 3], key: key, nonce: nonce, authenticating: [9])
        for bit in 0..<sealed.count * 8 {
            var changed = sealed
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            let error = #expect(throws: CryptoError.self) {
                try AESGCM.open(changed, key: key, nonce: nonce, authenticating: [9])
            }
            #expect(error?.code == .authenticationFailed)
        }
    }

    @Test("Sizes that AES-256-GCM cannot take are errors", arguments: [0, 16, 31, 33])
    func aesGCMSizes(keyBytes: Int) {
        let error = #expect(throws: CryptoError.self) {
            try AESGCM.seal(
                [],
                key: [UInt8](repeating: 0, count: keyBytes),
                nonce: [UInt8](repeating: 0, count: 12),
                authenticating: []
            )
        }
        #expect(error?.code == .invalidKey)
        let nonceError = #expect(throws: CryptoError.self) {
            try AESGCM.seal(
                [],
                key: [UInt8](repeating: 0, count: 32),
                nonce: [UInt8](repeating: 0, count: keyBytes),
                authenticating: []
            )
        }
        #expect(nonceError?.code == .invalidInput)
        #expect(throws: CryptoError.self) {
            try AESGCM.open(
                [UInt8](repeating: 0, count: 15),
                key: [UInt8](repeating: 0, count: 32),
                nonce: [UInt8](repeating: 0, count: 12),
                authenticating: []
            )
        }
    }

    @Test("Random bytes have the asked length and differ")
    func random() {
        #expect(SecureRandom.bytes(0).isEmpty)
        #expect(SecureRandom.bytes(1000).count == 1000)
        #expect(SecureRandom.bytes(16) != SecureRandom.bytes(16))
    }

    @Test("Comparison looks at every byte and the length")
    func comparison() {
        #expect(constantTimeEquals([UInt8](), [UInt8]()))
        #expect(constantTimeEquals([1, 2], [1, 2]))
        #expect(!constantTimeEquals([1, 2], [1, 3]))
        #expect(!constantTimeEquals([1, 2], [1, 2, 3]))
    }

    @Test("Secrets print nothing")
    func redaction() throws {
        let secret = SecretBytes(Array("hunter2".utf8))
        #expect("\(secret)" == "‹redacted›")
        #expect(Mirror(reflecting: secret).children.isEmpty)
        #expect(!String(reflecting: secret).contains("hunter2"))
        let key = try ES256PrivateKey.generate()
        #expect("\(key)" == "‹redacted›")
    }
}
