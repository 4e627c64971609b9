import CMHD
import Glibc

/// A literal socket address and whether it stays on this host.
struct ListenAddress {
    private var storage = sockaddr_storage()
    let isIPv6: Bool
    let isLoopback: Bool

    /// Reads a literal IPv4 or IPv6 address or `localhost`.
    init(host: String, port: UInt16) throws(HTTPServerError) {
        let literal = host == "localhost" ? "127.0.0.1" : host
        var v4 = in_addr()
        var v6 = in6_addr()
        if inet_pton(AF_INET, literal, &v4) == 1 {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr = v4
            isIPv6 = false
            isLoopback = UInt32(bigEndian: v4.s_addr) >> 24 == 127
            withUnsafeMutableBytes(of: &storage) { target in
                withUnsafeBytes(of: &address) { target.copyMemory(from: $0) }
            }
        } else if inet_pton(AF_INET6, literal, &v6) == 1 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = v6
            isIPv6 = true
            let bytes = withUnsafeBytes(of: &v6) { Array($0) }
            isLoopback = bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
            withUnsafeMutableBytes(of: &storage) { target in
                withUnsafeBytes(of: &address) { target.copyMemory(from: $0) }
            }
        } else {
            throw HTTPServerError(
                .invalidAddress,
                "The listen address must be a literal IP address or localhost."
            )
        }
    }

    /// Lends the address to C.
    mutating func withPointer<R>(_ body: (UnsafeMutableRawPointer) throws -> R) rethrows -> R {
        try withUnsafeMutablePointer(to: &storage) { try body(UnsafeMutableRawPointer($0)) }
    }

    /// The textual form of a peer address; an IPv4 address mapped into IPv6 reads as IPv4.
    static func text(of address: UnsafePointer<sockaddr>?) -> String {
        guard let address else { return "unknown" }
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            var v4 = raw.loadUnaligned(as: sockaddr_in.self).sin_addr
            inet_ntop(AF_INET, &v4, &buffer, socklen_t(buffer.count))
        case AF_INET6:
            var v6 = raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            inet_ntop(AF_INET6, &v6, &buffer, socklen_t(buffer.count))
        default:
            return "unknown"
        }
        let text = buffer.withUnsafeBytes { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        let mapped = "::ffff:"
        return text.hasPrefix(mapped) && text.utf8.contains(UInt8(ascii: "."))
            ? String(text.dropFirst(mapped.count)) : text
    }
}
