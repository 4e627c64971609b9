import Contracts
import EventIngestCore
import Testing

@Suite struct RFC3339Tests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.001z", 1),
        ("1969-12-31T23:59:59Z", -1000),
        ("2000-02-29T12:00:00Z", 951_825_600_000),
        ("2026-05-04T03:02:01.5+02:00", 1_777_856_521_500),
        ("2026-05-04t03:02:01-00:30", 1_777_865_521_000),
        ("2016-12-31T23:59:60Z", 1_483_228_800_000),
        ("0000-01-01T00:00:00Z", -62_167_219_200_000),
        ("9999-12-31T23:59:59.999999999Z", 253_402_300_799_999),
    ])
    func readsInstants(_ text: String, _ milliseconds: Int64) {
        #expect(RFC3339.parse(text)?.milliseconds == milliseconds)
    }

    @Test(arguments: [
        "", "2026", "2026-05-04", "2026-05-04T03:02:01", "2026-05-04 03:02:01Z",
        "2026-13-04T03:02:01Z", "2026-00-04T03:02:01Z", "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-05-00T00:00:00Z",
        "2026-05-04T24:00:00Z", "2026-05-04T03:60:00Z", "2026-05-04T03:02:61Z",
        "2026-05-04T03:02:01.Z", "2026-05-04T03:02:01+2:00", "2026-05-04T03:02:01+24:00",
        "2026-05-04T03:02:01+02:60", "2026-05-04T03:02:01Zx", " 2026-05-04T03:02:01Z",
        "+026-05-04T03:02:01Z", "２026-05-04T03:02:01Z", "2026-05-04T03:02:01\u{0}Z",
    ])
    func refusesWhatIsNoTimestamp(_ text: String) {
        #expect(RFC3339.parse(text) == nil)
    }

    @Test func countsEveryDayOnce() {
        var expected: Int64 = -2_524_521_600_000
        for year in 1890...2110 {
            for month in 1...12 {
                let text = Self.padded(year, 4) + "-" + Self.padded(month, 2)
                var day = 1
                while let instant = RFC3339.parse("\(text)-\(Self.padded(day, 2))T00:00:00Z") {
                    #expect(instant.milliseconds == expected)
                    expected += 86_400_000
                    day += 1
                }
                #expect((29...32).contains(day))
            }
        }
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: width - digits.count) + digits
    }
}
