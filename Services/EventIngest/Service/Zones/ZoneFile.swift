/// One zone of the system's time zone data (TZif, RFC 9636).
struct ZoneFile: Hashable, Sendable {
    private struct Transition: Hashable, Sendable {
        var instant: Int64
        /// Seconds east of UTC from here on.
        var offset: Int64
    }

    private let first: Int64
    private let transitions: [Transition]
    /// What holds after the last transition; nil when the file gives no rule.
    private let rule: ZoneRule?

    /// Nil for anything but a well-formed file.
    init?(_ bytes: [UInt8]) {
        guard let small = Header(bytes, at: 0) else { return nil }
        if small.version < UInt8(ascii: "2") {
            guard let block = Block(bytes, small, at: Header.size, timeSize: 4) else { return nil }
            (first, transitions, rule) = (block.first, block.transitions, nil)
            return
        }
        let start = Header.size + small.blockSize(timeSize: 4)
        guard
            let header = Header(bytes, at: start),
            let block = Block(bytes, header, at: start + Header.size, timeSize: 8)
        else { return nil }
        let end = start + Header.size + header.blockSize(timeSize: 8)
        let footer = bytes[end...]
        guard footer.first == 0x0a, let last = footer.dropFirst().firstIndex(of: 0x0a) else {
            return nil
        }
        let text = footer[(end + 1)..<last]
        let rule = text.isEmpty ? nil : ZoneRule(text)
        guard text.isEmpty || rule != nil else { return nil }
        (first, transitions, self.rule) = (block.first, block.transitions, rule)
    }

    /// Seconds east of UTC at an instant in seconds since 1970-01-01.
    func offset(at instant: Int64) -> Int64 {
        guard let last = transitions.last else { return rule?.offset(at: instant) ?? first }
        if instant >= last.instant { return rule?.offset(at: instant) ?? last.offset }
        var low = 0
        var high = transitions.count
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle].instant <= instant { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? first : transitions[low - 1].offset
    }

    private struct Header {
        static let size = 44
        let version: UInt8
        /// isutcnt, isstdcnt, leapcnt, timecnt, typecnt, charcnt
        private let counts: [Int]

        var times: Int { counts[3] }
        var types: Int { counts[4] }

        init?(_ bytes: [UInt8], at start: Int) {
            guard start >= 0, start + Self.size <= bytes.count,
                Array(bytes[start..<(start + 4)]) == Array("TZif".utf8)
            else { return nil }
            version = bytes[start + 4]
            counts = (0..<6).map { index in
                Int(ZoneFile.integer(bytes, at: start + 20 + index * 4, size: 4) & 0xffff_ffff)
            }
            guard counts.allSatisfy({ $0 <= 1 << 16 }), counts[4] > 0 else { return nil }
            guard start + Self.size + blockSize(timeSize: 4) <= bytes.count else { return nil }
        }

        func blockSize(timeSize: Int) -> Int {
            times * (timeSize + 1) + types * 6 + counts[5] + counts[2] * (timeSize + 4)
                + counts[1] + counts[0]
        }
    }

    private struct Block {
        var first: Int64
        var transitions: [Transition] = []

        init?(_ bytes: [UInt8], _ header: Header, at start: Int, timeSize: Int) {
            guard start + header.blockSize(timeSize: timeSize) <= bytes.count else { return nil }
            let kinds = start + header.times * timeSize
            let types = kinds + header.times
            func offset(_ type: Int) -> Int64? {
                guard type < header.types else { return nil }
                return ZoneFile.integer(bytes, at: types + type * 6, size: 4)
            }
            guard let first = offset(0) else { return nil }
            self.first = first
            var previous = Int64.min
            for index in 0..<header.times {
                let instant = ZoneFile.integer(
                    bytes,
                    at: start + index * timeSize,
                    size: timeSize
                )
                guard
                    instant >= previous,
                    let offset = offset(Int(bytes[kinds + index]))
                else { return nil }
                transitions.append(Transition(instant: instant, offset: offset))
                previous = instant
            }
        }
    }

    /// A signed big-endian integer of 4 or 8 bytes.
    private static func integer(_ bytes: [UInt8], at start: Int, size: Int) -> Int64 {
        let value = bytes[start..<(start + size)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return size == 4
            ? Int64(Int32(truncatingIfNeeded: value)) : Int64(bitPattern: value)
    }
}
