import Contracts

/// Reads the timestamps of RFC 3339 (`2026-05-04T03:02:01.5+02:00`), and nothing else.
package enum RFC3339 {
    /// The instant a timestamp names, or nil when it is not one.
    ///
    /// Digits beyond the millisecond are cut off. A leap second (`:60`) counts as the first instant
    /// of the next minute. The offset may be `Z` or `±hh:mm`; a time without an offset is refused.
    package static func parse(_ text: String) -> UnixMilliseconds? {
        var reader = Reader(bytes: Array(text.utf8))
        guard
            let year = reader.digits(4), reader.take("-"),
            let month = reader.digits(2), reader.take("-"),
            let day = reader.digits(2), reader.take("T") || reader.take("t"),
            let hour = reader.digits(2), reader.take(":"),
            let minute = reader.digits(2), reader.take(":"),
            let second = reader.digits(2),
            let millisecond = reader.fraction(),
            let offsetMinutes = reader.offset(),
            reader.isAtEnd,
            (1...12).contains(month),
            (1...days(inMonth: month, of: year)).contains(day),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        let days = daysSinceEpoch(year: year, month: month, day: day)
        let seconds = days * 86400 + hour * 3600 + minute * 60 + second - offsetMinutes * 60
        return UnixMilliseconds(seconds * 1000 + millisecond)
    }

    private static func isLeap(_ year: Int64) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    private static func days(inMonth month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days from 1970-01-01 in the proleptic Gregorian calendar, counted in years that begin in
    /// March so that the leap day comes last.
    private static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
        let marchYear = month <= 2 ? year - 1 : year
        let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private struct Reader {
        let bytes: [UInt8]
        var position = 0

        var isAtEnd: Bool { position == bytes.count }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard position < bytes.count, UInt32(bytes[position]) == character.value else {
                return false
            }
            position += 1
            return true
        }

        private mutating func digit() -> Int64? {
            guard position < bytes.count, (0x30...0x39).contains(bytes[position]) else {
                return nil
            }
            defer { position += 1 }
            return Int64(bytes[position] - 0x30)
        }

        mutating func digits(_ count: Int) -> Int64? {
            var value: Int64 = 0
            for _ in 0..<count {
                guard let next = digit() else { return nil }
                value = value * 10 + next
            }
            return value
        }

        /// Milliseconds of an optional fraction; nil when a point has no digit after it.
        mutating func fraction() -> Int64? {
            guard take(".") else { return 0 }
            guard var value = digit() else { return nil }
            var count = 1
            while let next = digit() {
                if count < 3 {
                    value = value * 10 + next
                    count += 1
                }
            }
            while count < 3 {
                value *= 10
                count += 1
            }
            return value
        }

        /// Minutes east of UTC.
        mutating func offset() -> Int64? {
            if take("Z") || take("z") { return 0 }
            let sign: Int64
            if take("+") { sign = 1 } else if take("-") { sign = -1 } else { return nil }
            guard
                let hours = digits(2), take(":"), let minutes = digits(2),
                hours < 24, minutes < 60
            else { return nil }
            return sign * (hours * 60 + minutes)
        }
    }
}
