/// The wait that a `Retry-After` field states, in seconds or as a date (RFC 9110 section 10.2.3).
package enum RetryAfter {
    /// Milliseconds from `now`; nil when the text is neither, when the date is past, or when it is a
    /// date and nobody knows what time it is.
    package static func milliseconds(_ text: String, now: UnixSeconds?) -> Int64? {
        let seconds: Int64
        if text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // Too many digits for a number are a very long wait, but no believable one.
            guard let number = Int64(text) else { return nil }
            seconds = number
        } else {
            guard let now, let moment = date(text) else { return nil }
            seconds = moment.seconds.subtractingReportingOverflow(now.seconds).partialValue
        }
        guard seconds > 0 else { return nil }
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
        return overflow ? .max : product
    }

    /// An instant in one of the three forms of HTTP (RFC 9110 section 5.6.7); always GMT.
    package static func date(_ text: String) -> UnixSeconds? {
        let parts = text.split { $0 == " " || $0 == "," || $0 == "-" || $0 == ":" }
        guard let weekday = parts.first, weekday.utf8.count >= 3 else { return nil }
        if parts.count == 8, parts[7] == "GMT" {
            // Sun, 06 Nov 1994 08:49:37 GMT, or Sunday, 06-Nov-94 08:49:37 GMT.
            return instant(parts[3], parts[2], parts[1], parts[4...6])
        }
        // Sun Nov  6 08:49:37 1994.
        return parts.count == 7 ? instant(parts[6], parts[1], parts[2], parts[3...5]) : nil
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func instant(
        _ year: Substring,
        _ month: Substring,
        _ day: Substring,
        _ clock: ArraySlice<Substring>
    ) -> UnixSeconds? {
        let time = clock.compactMap { number($0, in: 0...60) }
        guard
            var year = number(year, in: 0...9999),
            let month = months.firstIndex(of: String(month)),
            let day = number(day, in: 1...31),
            time.count == 3, let hour = time.first, hour < 24, time[1] < 60
        else { return nil }
        // Two digits belong to the century that makes sense for what is still running.
        if year < 100 { year += year < 70 ? 2000 : 1900 }
        let days = daysSince1970(year, Int64(month) + 1, day)
        return UnixSeconds(days * 86_400 + hour * 3_600 + time[1] * 60 + time[2])
    }

    private static func number(_ text: Substring, in range: ClosedRange<Int64>) -> Int64? {
        guard
            (1...4).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int64(text), range.contains(number)
        else { return nil }
        return number
    }

    /// Counts days by eras of 400 years that begin in March, so that a leap day is the last.
    private static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let years = month > 2 ? year : year - 1
        let era = (years >= 0 ? years : years - 399) / 400
        let yearOfEra = years - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
    }
}
