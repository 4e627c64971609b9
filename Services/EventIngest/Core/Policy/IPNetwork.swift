/// An IPv4 or IPv6 address, or a network of them in CIDR notation.
///
/// An IPv4 address that is mapped into IPv6 (`::ffff:192.0.2.1`) is the IPv4 address.
package struct IPNetwork: Hashable, Sendable {
    /// 4 or 16 bytes in network order.
    private let bytes: [UInt8]
    private let prefix: Int

    /// Reads `192.0.2.1`, `192.0.2.0/24`, `2001:db8::1` or `2001:db8::/32`; nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), var bytes = Self.address(parts[0]) else { return nil }
        let isMapped = bytes.count == 16 && bytes.starts(with: Self.mappedPrefix)
        var prefix = bytes.count * 8
        if parts.count == 2 {
            let digits = parts[1].utf8
            guard (1...3).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }),
                let stated = Int(parts[1]), stated <= prefix
            else { return nil }
            prefix = stated
        }
        if isMapped, prefix >= 96 {
            bytes = Array(bytes.suffix(4))
            prefix -= 96
        }
        self.bytes = bytes
        self.prefix = prefix
    }

    /// The address in one spelling: an IPv4 address with dots, any other as eight groups.
    package var addressText: String {
        if bytes.count == 4 { return bytes.map { String($0) }.joined(separator: ".") }
        return stride(from: 0, to: bytes.count, by: 2).map { index in
            String(UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1]), radix: 16)
        }.joined(separator: ":")
    }

    /// Whether an address lies in the network.
    package func contains(_ address: IPNetwork) -> Bool {
        guard address.bytes.count == bytes.count, address.prefix >= prefix else { return false }
        for (index, pair) in zip(bytes, address.bytes).enumerated() {
            let bits = min(max(prefix - index * 8, 0), 8)
            let mask = UInt8(truncatingIfNeeded: 0xff << (8 - bits))
            if pair.0 & mask != pair.1 & mask { return false }
        }
        return true
    }

    private static let mappedPrefix: [UInt8] = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]

    private static func address(_ text: Substring) -> [UInt8]? {
        text.utf8.contains(UInt8(ascii: ":")) ? version6(text) : version4(text)
    }

    private static func version4(_ text: Substring) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bytes: [UInt8] = []
        for part in parts {
            guard (1...3).contains(part.utf8.count),
                part.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                part.utf8.count == 1 || part.utf8.first != 0x30, let byte = UInt8(part)
            else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    private static func version6(_ text: Substring) -> [UInt8]? {
        let halves = Self.halves(text)
        guard let left = words(halves.left, mayEndIn4: halves.right == nil) else { return nil }
        guard let rightText = halves.right else { return left.count == 16 ? left : nil }
        guard let right = words(rightText, mayEndIn4: true), left.count + right.count <= 14 else {
            return nil
        }
        return left + [UInt8](repeating: 0, count: 16 - left.count - right.count) + right
    }

    /// What stands before and after `::`.
    private static func halves(_ text: Substring) -> (left: Substring, right: Substring?) {
        var index = text.startIndex
        while index < text.endIndex {
            let next = text.index(after: index)
            if text[index] == ":", next < text.endIndex, text[next] == ":" {
                return (text[..<index], text[text.index(after: next)...])
            }
            index = next
        }
        return (text, nil)
    }

    private static func words(_ text: Substring, mayEndIn4: Bool) -> [UInt8]? {
        if text.isEmpty { return [] }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 8 else { return nil }
        var bytes: [UInt8] = []
        for (index, part) in parts.enumerated() {
            if mayEndIn4, index == parts.count - 1, part.utf8.contains(UInt8(ascii: ".")) {
                guard let tail = version4(part) else { return nil }
                bytes += tail
            } else {
                guard (1...4).contains(part.utf8.count), part.first != "+",
                    let word = UInt16(part, radix: 16)
                else { return nil }
                bytes += [UInt8(word >> 8), UInt8(word & 0xff)]
            }
        }
        return bytes
    }
}
