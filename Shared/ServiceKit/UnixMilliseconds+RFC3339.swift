import Contracts

extension UnixMilliseconds {
    /// The instant as RFC 3339 text in UTC with milliseconds, `2026-01-31T23:59:59.999Z`.
    package var rfc3339: String {
        var days = milliseconds / 86_400_000
        var rest = milliseconds % 86_400_000
        if rest < 0 {
            rest += 86_400_000
            days -= 1
        }
        let (year, month, day) = Self.civil(days)
        let time = [
            Self.pad(rest / 3_600_000, 2), Self.pad(rest / 60_000 % 60, 2),
            Self.pad(rest / 1_000 % 60, 2),
        ].joined(separator: ":")
        let date = [Self.pad(year, 4), Self.pad(month, 2), Self.pad(day, 2)].joined(separator: "-")
        return "\(date)T\(time).\(Self.pad(rest % 1_000, 3))Z"
    }

    /// Days since 1970 as a Gregorian date (Howard Hinnant, "chrono-compatible date algorithms").
    private static func civil(_ daysSince1970: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = daysSince1970 + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func pad(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
