/// Who sends, for rate limits: an IPv4 address, the /64 of an IPv6 address, or everybody whose
/// address is not known, in one shared bucket.
package enum SourceKey: Hashable, Sendable {
    case v4(UInt32)
    case v6Network(UInt64)
    case unknown

    /// Reads a literal address; IPv4 mapped into IPv6 counts as IPv4, a zone is ignored.
    package init(_ text: String) {
        let literal = text.prefix { $0 != "%" }
        if literal.utf8.count > 45 {
            self = .unknown
        } else if let address = Self.v4Address(literal) {
            self = .v4(address)
        } else if let groups = Self.groups(literal) {
            if groups[0..<5].allSatisfy({ $0 == 0 }), groups[5] == 0xffff {
                self = .v4(UInt32(groups[6]) << 16 | UInt32(groups[7]))
            } else {
                self = .v6Network(groups[0..<4].reduce(0) { $0 << 16 | UInt64($1) })
            }
        } else {
            self = .unknown
        }
    }

    private static func v4Address(_ text: Substring) -> UInt32? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var address: UInt32 = 0
        for part in parts {
            guard
                (1...3).contains(part.utf8.count),
                part.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let byte = UInt8(part)
            else { return nil }
            address = address << 8 | UInt32(byte)
        }
        return address
    }

    /// The eight groups of an IPv6 literal (RFC 4291 section 2.2).
    private static func groups(_ text: Substring) -> [UInt16]? {
        guard text.utf8.contains(0x3a) else { return nil }
        guard let gap = text.firstRange(of: "::") else {
            guard let all = list(text), all.count == 8 else { return nil }
            return all
        }
        guard
            let head = list(text[..<gap.lowerBound]), let tail = list(text[gap.upperBound...]),
            head.count + tail.count <= 7
        else { return nil }
        return head + [UInt16](repeating: 0, count: 8 - head.count - tail.count) + tail
    }

    private static func list(_ text: Substring) -> [UInt16]? {
        if text.isEmpty { return [] }
        var groups: [UInt16] = []
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if index == parts.count - 1, let address = v4Address(part) {
                groups.append(UInt16(address >> 16))
                groups.append(UInt16(address & 0xffff))
                continue
            }
            guard
                (1...4).contains(part.utf8.count),
                part.utf8.allSatisfy({ $0 != 0x2b && $0 != 0x2d }),
                let group = UInt16(part, radix: 16)
            else { return nil }
            groups.append(group)
        }
        return groups
    }
}
