import Contracts
import Testing

@testable import PushBusDevice

/// The contract of the seam, with published vectors: it holds for whatever stands behind it.
@Suite struct DeviceCryptoTests {
    private static func bytes(_ hex: String) throws -> [UInt8] { try #require(Hex.decode(hex)) }

    /// FIPS 180-4, the examples of one block and of two.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func hashes(_ text: String, _ hash: String) {
        #expect(Hex.encode(DeviceCrypto.sha256(Array(text.utf8))) == hash)
    }

    /// Test case 16 of the GCM specification (McGrew and Viega): AES-256, 60 bytes, with associated data.
    private static let key = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
    private static let nonce = "cafebabefacedbaddecaf888"
    private static let associated = "feedfacedeadbeeffeedfacedeadbeefabaddad2"
    private static let plaintext =
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e24"
        + "49a6b525b16aedf5aa0de657ba637b39"
    private static let ciphertext =
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b10"
        + "56828838c5f61e6393ba7a0abcc9f662"
    private static let tag = "76fc6ece0f4e1768cddf8853bb2d551b"

    @Test func opensThePublishedVector() throws {
        let opened = try DeviceCrypto.open(
            Self.bytes(Self.ciphertext + Self.tag),
            key: Self.bytes(Self.key),
            nonce: Self.bytes(Self.nonce),
            authenticating: Self.bytes(Self.associated)
        )
        #expect(Hex.encode(opened) == Self.plaintext)
    }

    @Test func refusesEverythingElseAlike() throws {
        let sealed = try Self.bytes(Self.ciphertext + Self.tag)
        let (key, nonce) = (try Self.bytes(Self.key), try Self.bytes(Self.nonce))
        let associated = try Self.bytes(Self.associated)
        func isRefused(
            _ sealed: [UInt8],
            _ key: [UInt8],
            _ nonce: [UInt8],
            _ associated: [UInt8]
        ) -> Bool {
            (try? DeviceCrypto.open(sealed, key: key, nonce: nonce, authenticating: associated))
                == nil
        }
        #expect(!isRefused(sealed, key, nonce, associated))
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(isRefused(changed, key, nonce, associated))
        }
        for count in [0, 1, 15, 16, sealed.count - 1] {
            #expect(isRefused(Array(sealed.prefix(count)), key, nonce, associated))
        }
        for count in [0, 16, 24, 31] {
            #expect(isRefused(sealed, Array(key.prefix(count)), nonce, associated))
        }
        for other in [[], Array(nonce.prefix(11)), nonce + [0]] {
            #expect(isRefused(sealed, key, other, associated))
        }
        #expect(isRefused(sealed, key, nonce, []))
        #expect(isRefused(sealed, key.reversed(), nonce, associated))
    }
}
