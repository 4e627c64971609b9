/// The rule behind the last transition of a zone: a POSIX TZ text as in RFC 9636 §3.3.1, such as
/// `CET-1CEST,M3.5.0,M10.5.0/3`.
struct ZoneRule: Hashable, Sendable {
    /// Seconds east of UTC.
    private let standard: Int64
    private let summer: Summer?

    private struct Summer: Hashable, Sendable {
        var offset: Int64
        var begin: Change
        var end: Change
    }

    /// A day of the year, and when on it the clock is changed, in seconds after midnight.
    private struct Change: Hashable, Sendable {
        enum Day: Hashable, Sendable {
            /// 1 to 365, 29 February never counted.
            case julian(Int64)
            /// 0 to 365, 29 February counted.
            case index(Int64)
            case weekday(Int64, week: Int64, month: Int64)
        }

        var day: Day
        var seconds: Int64
    }

    /// Nil for anything but such a text.
    init?(_ text: some Sequence<UInt8>) {
        var reader = Reader(bytes: Array(text))
        guard reader.name(), let west = reader.offset(hours: 24) else { return nil }
        standard = -west
        if reader.isAtEnd {
            summer = nil
            return
        }
        guard reader.name() else { return nil }
        var offset = standard + 3600
        if !reader.isNext(",") {
            guard let west = reader.offset(hours: 24) else { return nil }
            offset = -west
        }
        guard
            reader.take(","), let begin = reader.change(),
            reader.take(","), let end = reader.change(), reader.isAtEnd
        else { return nil }
        summer = Summer(offset: offset, begin: begin, end: end)
    }

    /// Seconds east of UTC at an instant in seconds since 1970-01-01.
    func offset(at instant: Int64) -> Int64 {
        guard let summer else { return standard }
        let year = CivilDay.year(ofDay: CivilDay.floor(instant + standard, by: 86_400))
        let begin = Self.instant(of: summer.begin, in: year) - standard
        let end = Self.instant(of: summer.end, in: year) - summer.offset
        let isSummer =
            begin < end
            ? (begin..<end).contains(instant) : !(end..<begin).contains(instant)
        return isSummer ? summer.offset : standard
    }

    private static func instant(of change: Change, in year: Int64) -> Int64 {
        let first = CivilDay.days(year: year, month: 1, day: 1)
        let day: Int64
        switch change.day {
        case .index(let index): day = first + index
        case .julian(let index):
            day = first + index - 1 + (CivilDay.isLeap(year) && index >= 60 ? 1 : 0)
        case .weekday(let weekday, let week, let month):
            let begin = CivilDay.days(year: year, month: month, day: 1)
            let next =
                month == 12
                ? CivilDay.days(year: year + 1, month: 1, day: 1)
                : CivilDay.days(year: year, month: month + 1, day: 1)
            // 1970-01-01 was a Thursday, day 4 of a week that begins on Sunday.
            let shift = (weekday - (begin + 4) % 7 + 7) % 7
            var candidate = begin + shift + (week - 1) * 7
            if candidate >= next { candidate -= 7 }
            day = candidate
        }
        return day * 86_400 + change.seconds
    }
}

extension ZoneRule {
    private struct Reader {
        let bytes: [UInt8]
        var position = 0

        var isAtEnd: Bool { position == bytes.count }

        func isNext(_ character: Unicode.Scalar) -> Bool {
            position < bytes.count && UInt32(bytes[position]) == character.value
        }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard isNext(character) else { return false }
            position += 1
            return true
        }

        /// Letters, or anything in angle brackets.
        mutating func name() -> Bool {
            let start = position
            if take("<") {
                while position < bytes.count {
                    if take(">") { return position > start + 2 }
                    position += 1
                }
                return false
            }
            while position < bytes.count, (0x41...0x5a).contains(bytes[position] & 0xdf) {
                position += 1
            }
            return position > start
        }

        mutating func number(_ range: ClosedRange<Int64>) -> Int64? {
            var value: Int64 = 0
            let start = position
            while position < bytes.count, position < start + 3,
                (0x30...0x39).contains(bytes[position])
            {
                value = value * 10 + Int64(bytes[position] - 0x30)
                position += 1
            }
            return position > start && range.contains(value) ? value : nil
        }

        /// `[+-]hh[:mm[:ss]]` in seconds.
        mutating func offset(hours: Int64) -> Int64? {
            let isNegative = take("-")
            if !isNegative { _ = take("+") }
            guard var value = number(0...hours).map({ $0 * 3600 }) else { return nil }
            for unit: Int64 in [60, 1] where take(":") {
                guard let part = number(0...59) else { return nil }
                value += part * unit
            }
            return isNegative ? -value : value
        }

        mutating func change() -> Change? {
            let day: Change.Day
            if take("M") {
                guard
                    let month = number(1...12), take("."), let week = number(1...5), take("."),
                    let weekday = number(0...6)
                else { return nil }
                day = .weekday(weekday, week: week, month: month)
            } else if take("J") {
                guard let index = number(1...365) else { return nil }
                day = .julian(index)
            } else {
                guard let index = number(0...365) else { return nil }
                day = .index(index)
            }
            guard take("/") else { return Change(day: day, seconds: 7200) }
            guard let seconds = offset(hours: 167) else { return nil }
            return Change(day: day, seconds: seconds)
        }
    }
}

/// Days of the Gregorian calendar, counted from 1970-01-01.
enum CivilDay {
    static func floor(_ value: Int64, by divisor: Int64) -> Int64 {
        let quotient = value / divisor
        return value % divisor < 0 ? quotient - 1 : quotient
    }

    static func isLeap(_ year: Int64) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    /// Counted in years that begin in March, so that the leap day comes last.
    static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let marchYear = month <= 2 ? year - 1 : year
        let era = floor(marchYear, by: 400)
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    static func year(ofDay day: Int64) -> Int64 {
        var year = 1970 + floor(day, by: 366)
        while days(year: year + 1, month: 1, day: 1) <= day { year += 1 }
        return year
    }
}
