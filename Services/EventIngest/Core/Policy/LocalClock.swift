import Contracts

/// The local clock of a zone, which daylight saving time puts forward and back.
struct LocalClock {
    let zone: String
    let offset: ZoneOffset

    static let secondsPerDay: Int64 = 86_400

    /// The day that the clock shows at an instant, counted from 1970-01-01.
    func day(at instant: Int64) -> Int64? {
        guard let seconds = offset(zone, UnixSeconds(instant)) else { return nil }
        let local = instant + seconds
        let quotient = local / Self.secondsPerDay
        return local % Self.secondsPerDay < 0 ? quotient - 1 : quotient
    }

    /// The first and the last instant at which the clock shows a local time, given in seconds since
    /// 1970-01-01 as if it were UTC.
    ///
    /// A time that the clock shows twice has two; one that it leaves out stands for the instant at
    /// which it is put forward.
    func instants(of local: Int64) -> (first: Int64, last: Int64)? {
        guard
            let before = offset(zone, UnixSeconds(local - Self.secondsPerDay)),
            let after = offset(zone, UnixSeconds(local + Self.secondsPerDay))
        else { return nil }
        let candidates = Set([local - before, local - after]).sorted()
        var shown: [Int64] = []
        for candidate in candidates {
            guard let actual = offset(zone, UnixSeconds(candidate)) else { return nil }
            if candidate + actual == local { shown.append(candidate) }
        }
        if let first = shown.first, let last = shown.last { return (first, last) }
        // Left out: somewhere between the candidates the clock goes past this time.
        guard var low = candidates.first, var high = candidates.last else { return nil }
        while low + 1 < high {
            let middle = low + (high - low) / 2
            guard let actual = offset(zone, UnixSeconds(middle)) else { return nil }
            if middle + actual > local { high = middle } else { low = middle }
        }
        return (high, high)
    }
}
