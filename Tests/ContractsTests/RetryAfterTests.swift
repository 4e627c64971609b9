import Contracts
import Testing

@Suite struct RetryAfterTests {
    /// 1994-11-06 08:49:37, the example of RFC 9110.
    private static let moment: Int64 = 784_111_777

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ])
    func everyFormOfADate(text: String) {
        #expect(RetryAfter.date(text) == UnixSeconds(Self.moment))
        #expect(RetryAfter.milliseconds(text, now: UnixSeconds(Self.moment - 90)) == 90_000)
        // Over, or of no use without a clock.
        #expect(RetryAfter.milliseconds(text, now: UnixSeconds(Self.moment)) == nil)
        #expect(RetryAfter.milliseconds(text, now: nil) == nil)
    }

    @Test(
        arguments: [
            ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_200),
            ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
        ] as [(String, Int64)]
    )
    func leapDaysAndCenturies(text: String, seconds: Int64) {
        #expect(RetryAfter.date(text)?.seconds == seconds)
    }

    @Test func secondsNeedNoClock() {
        #expect(RetryAfter.milliseconds("120", now: nil) == 120_000)
        #expect(RetryAfter.milliseconds("9223372036854775807", now: nil) == .max)
    }

    @Test(arguments: [
        "", "0", "-3", "1.5", "+7", "soon", "92233720368547758080", "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nvo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 06 Nov 19945 08:49:37 GMT",
    ])
    func whatIsNoWaitIsNone(text: String) {
        #expect(RetryAfter.milliseconds(text, now: UnixSeconds(0)) == nil)
    }
}
