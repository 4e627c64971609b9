import Contracts
import PushBusCrypto
import RegistrationCore
import Testing

/// The vectors are those of RFC 6238 appendix B and RFC 4648 section 10, cut to six digits.
@Suite
struct OneTimeCodeRuleTests {
    static let secret = SecretBytes(Array("12345678901234567890".utf8))

    static func hmac(_ message: [UInt8]) -> [UInt8] { HMACSHA1.code(for: message, key: secret) }

    @Test(
        arguments: [
            (59, "287082"), (1_111_111_109, "081804"), (1_111_111_111, "050471"),
            (1_234_567_890, "005924"), (2_000_000_000, "279037"), (20_000_000_000, "353130"),
        ] as [(Int64, String)]
    )
    func makesTheCodesOfTheStandard(time: Int64, code: String) {
        let step = OneTimeCode.step(at: UnixSeconds(time))
        #expect(OneTimeCode.code(ofStep: step, hmac: Self.hmac) == code)
    }

    @Test func takesAStepToEitherSideOnce() {
        let now = UnixSeconds(1_800_000_000)
        let current = OneTimeCode.step(at: now)
        for step in (current - 3)...(current + 3) {
            let code = OneTimeCode.code(ofStep: step, hmac: Self.hmac)
            let taken = OneTimeCode.accept(code, now: now, lastStep: 0, hmac: Self.hmac)
            #expect(taken == (abs(step - current) <= 1 ? step : nil))
            let again = OneTimeCode.accept(code, now: now, lastStep: step, hmac: Self.hmac)
            #expect(again == nil)
        }
        for text in ["", "12345", "1234567", "abcdef"] {
            #expect(OneTimeCode.accept(text, now: now, lastStep: 0, hmac: Self.hmac) == nil)
        }
    }

    @Test(arguments: [
        ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"),
        ("fooba", "MZXW6YTB"), ("foobar", "MZXW6YTBOI"),
    ])
    func writesBase32(text: String, encoded: String) {
        #expect(OneTimeCode.base32(Array(text.utf8)) == encoded)
    }

    @Test func writesTheURI() {
        let uri = OneTimeCode.uri(
            secret: Array("foobar".utf8),
            username: "al ice",
            issuer: "Push/Bus"
        )
        #expect(uri == "otpauth://totp/Push%2FBus:al%20ice?secret=MZXW6YTBOI&issuer=Push%2FBus")
    }
}
